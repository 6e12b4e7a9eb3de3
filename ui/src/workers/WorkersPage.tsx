import { useTranslation } from "react-i18next";
import type { Device, Worker } from "../api/types";
import { platformAddress } from "../base";
import { clockTime } from "../format";
import { Command } from "../parts/Command";
import { Loaded } from "../parts/Loaded";
import { Meter } from "../parts/Meter";
import { Simulated } from "../parts/Simulated";
import { StateMark } from "../parts/StateMark";
import { useDevices, useInstances, useWorkers } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { devicesOf, ramClaimed } from "./capacity";
import { DeviceTable } from "./DeviceTable";

export function WorkersPage() {
  const { t } = useTranslation();
  const workers = useWorkers();
  const devices = useDevices();
  const instances = useInstances();
  usePageTitle(t("workers.title"));
  return (
    <Loaded query={workers}>
      {(list) => (
        <>
          <div className="page-head">
            <h1>{t("workers.title")}</h1>
            <span className="soft">{t("workers.count", { count: list.items.length })}</span>
          </div>
          {list.items.length === 0 && <NoWorkers />}
          {list.items.map((worker) => (
            <WorkerCard
              key={worker.id}
              worker={worker}
              devices={devicesOf(worker, devices.data)}
              claimed={ramClaimed(worker, instances.data)}
            />
          ))}
        </>
      )}
    </Loaded>
  );
}

function NoWorkers() {
  const { t } = useTranslation();
  return (
    <div className="empty">
      <h2>{t("workers.emptyTitle")}</h2>
      <p>{t("workers.emptyText")}</p>
      <Command
        label={t("workers.emptyTitle")}
        text={`gpustack-lite join ${platformAddress()} --token TOKEN`}
      />
    </div>
  );
}

interface CardProps {
  worker: Worker;
  devices: Device[];
  claimed: number;
}

function WorkerCard({ worker, devices, claimed }: CardProps) {
  const { t } = useTranslation();
  return (
    <section className="card worker" aria-label={worker.name}>
      <div className="worker-head">
        <div>
          <div className="page-head is-tight">
            <h2 className="name">{worker.name}</h2>
            <StateMark state={worker.state} />
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
