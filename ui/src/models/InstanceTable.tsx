import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Instance } from "../api/types";
import { clockTime } from "../format";
import { Simulated } from "../parts/Simulated";
import { StateMark } from "../parts/StateMark";
import { places } from "./story";

export function InstanceTable({ instances }: { instances: Instance[] }) {
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
                <th>
                  <span className="hidden">{t("model.logs")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {instances.map((instance) => (
                <InstanceRow key={instance.id} instance={instance} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function InstanceRow({ instance }: { instance: Instance }) {
  const { t } = useTranslation();
  const { id, pid, port } = instance;
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
      <td>
        {instance.attempt > 0 && (
          <Link to="/instances/$id/logs" params={{ id: String(id) }} aria-label={t("model.logsOf", { id })}>
            {t("model.logs")}
          </Link>
        )}
      </td>
    </tr>
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
