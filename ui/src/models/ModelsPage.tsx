import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Instance, Model } from "../api/types";
import { Command } from "../parts/Command";
import { Loaded } from "../parts/Loaded";
import { ProgressBar } from "../parts/ProgressBar";
import { Simulated } from "../parts/Simulated";
import { StateMark } from "../parts/StateMark";
import { useInstances, useMe, useModels } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { arriving, byName, instancesOf, places } from "./story";

export function ModelsPage() {
  const { t } = useTranslation();
  const models = useModels();
  const instances = useInstances();
  const isAdmin = useMe().data?.role === "admin";
  usePageTitle(t("models.title"));
  return (
    <Loaded query={models}>
      {(list) => (
        <>
          <div className="page-head">
            <h1>{t("models.title")}</h1>
            {list.items.length > 0 && (
              <span className="soft">{t("models.count", { count: list.items.length })}</span>
            )}
            {isAdmin && (
              <Link className="button is-main push" to="/deploy">
                {t("deploy.open")}
              </Link>
            )}
          </div>
          {list.items.length === 0 ? (
            <NoModels />
          ) : (
            <ModelTable rows={byName(list).map((model) => [model, instancesOf(model, instances.data)])} />
          )}
        </>
      )}
    </Loaded>
  );
}

function NoModels() {
  const { t } = useTranslation();
  return (
    <div className="empty">
      <h2>{t("models.emptyTitle")}</h2>
      <p>{t("models.emptyText")}</p>
      <Command
        label={t("models.emptyTitle")}
        text="gpustack-lite models deploy qwen --source /models/qwen2.5-7b-q4.gguf"
      />
    </div>
  );
}

function ModelTable({ rows }: { rows: [Model, Instance[]][] }) {
  const { t } = useTranslation();
  return (
    <section className="card scroll" aria-label={t("models.title")}>
      <table className="models">
        <thead>
          <tr>
            <th className="col-model">{t("models.model")}</th>
            <th>{t("models.state")}</th>
            <th className="col-ready">{t("models.ready")}</th>
            <th className="col-where">{t("models.where")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([model, instances]) => (
            <ModelRow key={model.id} model={model} instances={instances} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function ModelRow({ model, instances }: { model: Model; instances: Instance[] }) {
  const onItsWay = arriving(instances);
  return (
    <tr data-model={model.name} data-state={model.state}>
      <td>
        <Link className="name" to="/models/$" params={{ _splat: model.name }}>
          {model.name}
        </Link>
        <div className="soft small mono cut" title={model.source}>
          {model.source}
        </div>
      </td>
      <td>
        <StateMark state={model.state} />
        {model.state_message && <p className="sentence">{model.state_message}</p>}
        {onItsWay?.progress && <ProgressBar progress={onItsWay.progress} />}
      </td>
      <td>
        <Replicas model={model} />
      </td>
      <td>
        <Places instances={instances} />
      </td>
    </tr>
  );
}

const MOST_PIPS = 8;

function Replicas({ model: { ready_replicas: ready, replicas: desired } }: { model: Model }) {
  const { t } = useTranslation();
  const pips = desired <= MOST_PIPS ? Array.from({ length: desired }, (_, index) => index) : [];
  return (
    <span title={t("models.readyOf", { ready, desired })}>
      <span aria-hidden="true">
        {ready} / {desired}
        <span className="pips">
          {pips.map((index) => (
            <i key={index} className={index < ready ? "on" : ""} />
          ))}
        </span>
      </span>
      <span className="hidden">{t("models.readyOf", { ready, desired })}</span>
    </span>
  );
}

function Places({ instances }: { instances: Instance[] }) {
  const { t } = useTranslation();
  const names = places(instances);
  return (
    <>
      <div className="mono">{names.length > 0 ? names.join(", ") : t("common.none")}</div>
      {instances.some(({ simulated }) => simulated) && <Simulated />}
    </>
  );
}
