// One worker: what it has, what runs there, what its tools said, and what can be done with it.

import "./workers.css";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Device, HostFact, Instance, ToolReport, Worker } from "../api/types";
import { bytes, clockTime } from "../format";
import { Confirm } from "../parts/Confirm";
import { Dialog } from "../parts/Dialog";
import { Loaded } from "../parts/Loaded";
import { Meter } from "../parts/Meter";
import { Refused } from "../parts/Refused";
import { Simulated } from "../parts/Simulated";
import { StateMark } from "../parts/StateMark";
import { useAct } from "../parts/useAct";
import { useQuestion } from "../parts/useQuestion";
import { useDevices, useInstances, useMe, usePlatform, useWorkers } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { devicesOf, ramClaimed } from "./capacity";
import { DeviceTable } from "./DeviceTable";
import { ToolMark } from "./ToolMark";

export function WorkerPage() {
  const { t } = useTranslation();
  const { name } = useParams({ from: "/workers/$name" });
  const workers = useWorkers();
  usePageTitle(name);
  return (
    <>
      <p className="back">
        <Link to="/workers">← {t("fleet.back")}</Link>
      </p>
      <Loaded query={workers}>
        {(list) => {
          const worker = list.items.find((each) => each.name === name);
          return worker === undefined ? (
            <p>{t("fleet.missing", { name })}</p>
          ) : (
            <WorkerDetail worker={worker} />
          );
        }}
      </Loaded>
    </>
  );
}

function WorkerDetail({ worker }: { worker: Worker }) {
  const { t } = useTranslation();
  const devices = useDevices();
  const instances = useInstances();
  const mine = devicesOf(worker, devices.data);
  const here = (instances.data?.items ?? []).filter((each) => each.worker === worker.name);
  return (
    <>
      <div className="page-head">
        <h1>{worker.name}</h1>
        <StateMark state={worker.state} />
        {worker.drained && <span className="tag">{t("fleet.drained")}</span>}
        {worker.simulated && <Simulated />}
        <Acts worker={worker} here={here.filter(({ holds_claim }) => holds_claim)} />
      </div>
      <Facts worker={worker} />
      <section>
        <h2>{t("workers.memory")}</h2>
        <Meter
          label={t("workers.memory")}
          total={worker.ram_total_bytes}
          claimed={ramClaimed(worker, instances.data)}
          used={worker.ram_used_bytes}
        />
      </section>
      <section aria-label={t("fleet.devices")}>
        <h2>{t("fleet.devices")}</h2>
        {mine.length === 0 ? (
          <p className="soft">{t("workers.noDevices")}</p>
        ) : (
          <div className="card">
            <DeviceTable devices={mine} acts={(device) => <CordonAct device={device} />} />
          </div>
        )}
      </section>
      <Instances here={here} />
      <Tools tools={worker.tools} />
      <Engines worker={worker} />
    </>
  );
}

const HOST: HostFact[] = [
  "os",
  "arch",
  "libc",
  "container",
  "driver",
  "firmware",
  "cann",
  "nvidia_driver",
  "cuda",
];

function Facts({ worker }: { worker: Worker }) {
  const { t, i18n } = useTranslation();
  const labels = Object.entries(worker.labels).map(([key, value]) => `${key}=${value}`);
  const facts: [string, string | null | undefined][] = [
    [t("fleet.facts.hostname"), worker.hostname],
    [t("fleet.facts.version"), worker.version],
    [t("fleet.facts.labels"), labels.join(", ") || null],
    [t("fleet.facts.cpus"), worker.cpu_count?.toString()],
    [t("fleet.facts.disk"), worker.disk_free_bytes === null ? null : bytes(worker.disk_free_bytes)],
    ...HOST.map((key): [string, string | null | undefined] => [t(`fleet.facts.${key}`), worker.host[key]]),
    [t("fleet.facts.seen"), worker.seen_at === null ? null : clockTime(worker.seen_at, i18n.language)],
  ];
  return (
    <dl className="facts">
      {facts.map(([name, value]) =>
        value ? (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ) : null,
      )}
    </dl>
  );
}

function Acts({ worker, here }: { worker: Worker; here: Instance[] }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const navigate = useNavigate();
  const me = useMe();
  const { act, isBusy, error } = useAct();
  const [question, ask, close] = useQuestion<"drain" | "remove">();
  if (me.data?.role !== "admin") return null;
  const path = `/api/v1/workers/${encodeURIComponent(worker.name)}`;
  const words = { count: here.length, names: here.map(({ model, id }) => `${model} (${id})`).join(", ") };
  const remove = async () => {
    await api.delete(path);
    await navigate({ to: "/workers" });
  };
  return (
    <div className="actions push">
      {worker.drained ? (
        <button
          type="button"
          className="button"
          disabled={isBusy}
          onClick={() => void act(() => api.post(`${path}/resume`))}
        >
          {t("fleet.resume")}
        </button>
      ) : (
        <button type="button" className="button" onClick={() => ask("drain")}>
          {t("fleet.drain")}
        </button>
      )}
      <button type="button" className="button is-bad" onClick={() => ask("remove")}>
        {t("fleet.remove")}
      </button>
      <Refused error={error} />
      {question === "drain" && (
        <Confirm
          title={t("fleet.drainTitle", { worker: worker.name })}
          consequences={
            here.length === 0 ? [t("fleet.drainNone")] : [t("fleet.drainKeeps", words), t("fleet.drainNew")]
          }
          verb={t("fleet.drain")}
          onConfirm={() => api.post(`${path}/drain`)}
          onClose={close}
        />
      )}
      {question === "remove" && (
        <Confirm
          title={t("fleet.removeTitle", { worker: worker.name })}
          consequences={[
            ...(here.length === 0 ? [] : [t("fleet.removeBreaks", words)]),
            t("fleet.removeText"),
          ]}
          verb={t("fleet.remove")}
          onConfirm={remove}
          onClose={close}
        />
      )}
    </div>
  );
}

function CordonAct({ device }: { device: Device }) {
  const { t } = useTranslation();
  const { api, queries } = usePlatform();
  const me = useMe();
  const { act, isBusy, error } = useAct();
  const [question, ask, close] = useQuestion<Device>();
  if (me.data?.role !== "admin") return null;
  const again = () => queries.invalidateQueries({ queryKey: ["devices"] });
  const send = async (verb: "cordon" | "uncordon", body: object) => {
    await api.post(`/api/v1/devices/${device.id}/${verb}`, body);
    await again();
  };
  return (
    <>
      <button
        type="button"
        className="quiet-button"
        disabled={isBusy}
        onClick={() => (device.cordoned ? void act(() => send("uncordon", {})) : ask(device))}
      >
        {t(device.cordoned ? "fleet.uncordon" : "fleet.cordon")}
        <span className="hidden">{` ${device.worker}:${device.index}`}</span>
      </button>
      <Refused error={error} />
      {question !== null && (
        <CordonQuestion device={device} onSend={(note) => send("cordon", { note })} onClose={close} />
      )}
    </>
  );
}

interface CordonProps {
  device: Device;
  onSend: (note: string) => Promise<unknown>;
  onClose: () => void;
}

function CordonQuestion({ device, onSend, onClose }: CordonProps) {
  const { t } = useTranslation();
  const { act, isBusy, error } = useAct();
  const send = async (form: FormData) => {
    if (await act(() => onSend(String(form.get("note") ?? "")))) onClose();
  };
  return (
    <Dialog title={t("fleet.cordonTitle", { device: `${device.worker}:${device.index}` })} onClose={onClose}>
      <p>{t("fleet.cordonText")}</p>
      <form action={send}>
        <label className="field">
          {t("fleet.note")}
          <input name="note" maxLength={300} placeholder={t("fleet.notePlaceholder")} />
        </label>
        <Refused error={error} />
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            {t("common.cancel")}
          </button>
          <button type="submit" className="button is-main" disabled={isBusy}>
            {t("fleet.cordon")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Instances({ here }: { here: Instance[] }) {
  const { t } = useTranslation();
  return (
    <section aria-label={t("fleet.instances")}>
      <h2>{t("fleet.instances")}</h2>
      {here.length === 0 && <p className="soft">{t("fleet.noInstances")}</p>}
      {here.length > 0 && (
        <div className="card scroll">
          <table>
            <tbody>
              {here.map((instance) => (
                <tr key={instance.id}>
                  <td>
                    <Link className="name" to="/models/$" params={{ _splat: instance.model }}>
                      {instance.model}
                    </Link>
                    <span className="soft small mono"> {instance.id}</span>
                  </td>
                  <td>
                    <StateMark state={instance.state} />
                    {instance.state_message && <p className="sentence">{instance.state_message}</p>}
                  </td>
                  <td className="mono">{instance.devices.join(", ") || t("common.none")}</td>
                  <td>
                    <Link to="/instances/$id/logs" params={{ id: String(instance.id) }}>
                      {t("model.logs")}
                    </Link>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Tools({ tools }: { tools: ToolReport[] }) {
  const { t } = useTranslation();
  if (tools.length === 0) return null;
  return (
    <section aria-label={t("fleet.tools")}>
      <h2>{t("fleet.tools")}</h2>
      <div className="card scroll">
        <table>
          <tbody>
            {tools.map(({ command, status, said, remedy }) => (
              <tr key={command}>
                <td className="mono">{command}</td>
                <td>
                  <ToolMark status={status} />
                  {said?.message && <p className="sentence">{said.message}</p>}
                  {remedy?.message && <p className="sentence">→ {remedy.message}</p>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Engines({ worker }: { worker: Worker }) {
  const { t } = useTranslation();
  const versions = worker.backend_versions as unknown as EngineOnWorker[];
  if (versions.length === 0) return null;
  return (
    <section aria-label={t("fleet.engines")}>
      <h2>{t("fleet.engines")}</h2>
      <div className="card scroll">
        <table>
          <thead>
            <tr>
              <th>{t("fleet.engine")}</th>
              <th>{t("fleet.engineVersion")}</th>
              <th>{t("fleet.engineFor")}</th>
              <th>{t("fleet.engineFrom")}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {versions.map(({ backend, version, device_kinds, source, installed }) => (
              <tr key={`${backend} ${version} ${source}`}>
                <td>{backend}</td>
                <td className="mono">{version}</td>
                <td>{(device_kinds ?? []).join(", ")}</td>
                <td>{source}</td>
                <td className="soft">{t(installed ? "fleet.installed" : "fleet.notInstalled")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface EngineOnWorker {
  backend: string;
  version: string;
  device_kinds?: string[];
  source: string;
  installed: boolean;
}
