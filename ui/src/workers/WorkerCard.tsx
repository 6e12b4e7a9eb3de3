// One worker with its devices, as the list shows it.

import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Device, Worker } from "../api/types";
import { clockTime } from "../format";
import { Meter } from "../parts/Meter";
import { Simulated } from "../parts/Simulated";
import { StateMark } from "../parts/StateMark";
import { DeviceTable } from "./DeviceTable";

interface Props {
  worker: Worker;
  devices: Device[];
  claimed: number;
}

export function WorkerCard({ worker, devices, claimed }: Props) {
  const { t } = useTranslation();
  return (
    <section className="card worker" aria-label={worker.name}>
      <div className="worker-head">
        <div>
          <div className="page-head is-tight">
            <h2>
              <Link className="name" to="/workers/$name" params={{ name: worker.name }}>
                {worker.name}
              </Link>
            </h2>
            <StateMark state={worker.state} />
            {worker.drained && <span className="tag">{t("fleet.drained")}</span>}
            {worker.simulated && <Simulated />}
          </div>
          <p className="sentence">{useFacts(worker).join(" · ")}</p>
        </div>
        <Meter
          label={t("workers.memory")}
          total={worker.ram_total_bytes}
          claimed={claimed}
          used={worker.ram_used_bytes}
        />
      </div>
      {devices.length > 0 ? (
        <DeviceTable devices={devices} />
      ) : (
        <p className="note">{t("workers.noDevices")}</p>
      )}
    </section>
  );
}

function useFacts(worker: Worker): string[] {
  const { t, i18n } = useTranslation();
  const labels = Object.entries(worker.labels).map(([key, value]) => `${key}=${value}`);
  const silent = worker.state === "silent" && worker.seen_at !== null;
  return [
    worker.hostname === worker.name ? "" : worker.hostname,
    worker.cpu_count !== null ? t("workers.cpus", { count: worker.cpu_count }) : "",
    worker.version,
    ...labels,
    silent ? t("workers.seen", { time: clockTime(worker.seen_at ?? 0, i18n.language) }) : "",
  ].filter((fact) => fact !== "");
}
