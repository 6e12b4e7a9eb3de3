import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Instance } from "../api/types";
import { bytes, clockTime } from "../format";
import { Confirm } from "../parts/Confirm";
import { Simulated } from "../parts/Simulated";
import { StateMark } from "../parts/StateMark";
import { useQuestion } from "../parts/useQuestion";
import { useMe, usePlatform } from "../platform";
import { memoryOf } from "./fleet";
import { places } from "./story";

interface Props {
  instances: Instance[];
  /** With the engine's build, the memory, since when, and the way to restart one. */
  isWhole?: boolean;
}

export function InstanceTable({ instances, isWhole = false }: Props) {
  const { t } = useTranslation();
  return (
    <section>
      <h2>{t("model.instancesTitle")}</h2>
      {instances.length === 0 ? (
        <p className="soft">{t("model.noInstances")}</p>
      ) : (
        <div className="card scroll">
          <table>
            <thead>
              <tr>
                <th>{t("model.instance")}</th>
                <th>{t("models.state")}</th>
                <th>{t("models.where")}</th>
                <th>{t("model.process")}</th>
                <th className="number">{t("model.attempt")}</th>
                {isWhole && (
                  <>
                    <th>{t("deployments.build")}</th>
                    <th>{t("deployments.claim")}</th>
                    <th>{t("deployments.since")}</th>
                  </>
                )}
                <th>
                  <span className="hidden">{t("model.logs")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {instances.map((instance) => (
                <InstanceRow key={instance.id} instance={instance} isWhole={isWhole} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function InstanceRow({ instance, isWhole }: { instance: Instance; isWhole: boolean }) {
  const { t, i18n } = useTranslation();
  const { id, pid, port, backend, backend_version } = instance;
  const { claimed, used } = memoryOf([instance]);
  return (
    <tr>
      <td>{id}</td>
      <td>
        <StateMark state={instance.state} />
        <Trouble instance={instance} />
      </td>
      <td>
        <span className="mono">{places([instance]).join(", ") || t("common.none")}</span>{" "}
        {instance.simulated && <Simulated />}
      </td>
      <td className="soft">
        {pid !== null && port !== null ? t("model.processOf", { pid, port }) : t("common.none")}
      </td>
      <td className="number">{instance.attempt || t("common.none")}</td>
      {isWhole && (
        <>
          <td className="mono">{[backend, backend_version].filter(Boolean).join(" ") || t("common.none")}</td>
          <td className="small">
            {claimed === null ? t("common.none") : t("deployments.claimed", { size: bytes(claimed) })}
            {used !== null && <div className="soft">{t("deployments.used", { size: bytes(used) })}</div>}
          </td>
          <td className="number">
            <time dateTime={instance.state_since}>{clockTime(instance.state_since, i18n.language)}</time>
          </td>
        </>
      )}
      <td>
        {instance.attempt > 0 && (
          <Link to="/instances/$id/logs" params={{ id: String(id) }} aria-label={t("model.logsOf", { id })}>
            {t("model.logs")}
          </Link>
        )}
        {isWhole && <Restart instance={instance} />}
      </td>
    </tr>
  );
}

function Restart({ instance: { id, state } }: { instance: Instance }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const me = useMe();
  const [question, ask, close] = useQuestion<number>();
  if (me.data?.role !== "admin") return null;
  const serves = state === "ready" ? t("acts.breaks", { count: 1 }) : t("acts.nothingServes");
  return (
    <>
      {" "}
      <button type="button" className="quiet-button" onClick={() => ask(id)}>
        {t("deployments.restart")}
        <span className="hidden">{` ${id}`}</span>
      </button>
      {question !== null && (
        <Confirm
          title={t("deployments.restartTitle", { id })}
          consequences={[serves, t("deployments.restartText")]}
          verb={t("deployments.restart")}
          onConfirm={() => api.delete(`/api/v1/instances/${id}`)}
          onClose={close}
        />
      )}
    </>
  );
}

function Trouble({ instance: { state, state_message, next_try_at, gave_up } }: { instance: Instance }) {
  const { t, i18n } = useTranslation();
  if (state === "ready") return null;
  const next =
    next_try_at !== null && !gave_up && t("model.nextTry", { time: clockTime(next_try_at, i18n.language) });
  return (
    <p className="sentence">
      {[state_message, next, gave_up && t("model.gaveUp")].filter(Boolean).join(" ")}
    </p>
  );
}
