import { Link, useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Instance, Model } from "../api/types";
import { Loaded } from "../parts/Loaded";
import { ProgressBar } from "../parts/ProgressBar";
import { StateMark } from "../parts/StateMark";
import { useInstances, useModels } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { InstanceTable } from "./InstanceTable";
import { ModelActs } from "./ModelActs";
import { ObstacleList } from "./ObstacleList";
import { StartUp } from "./StartUp";
import { arriving, instancesOf, obstacles } from "./story";
import { UseIt } from "./UseIt";

export function ModelPage() {
  const { t } = useTranslation();
  const { _splat: name = "" } = useParams({ from: "/models/$" });
  const models = useModels();
  const instances = useInstances();
  usePageTitle(name);
  return (
    <>
      <p className="back">
        <Link to="/models">← {t("model.back")}</Link>
      </p>
      <Loaded query={models}>
        {(list) => {
          const model = list.items.find((each) => each.name === name);
          if (model === undefined) return <h1>{t("model.missing", { name })}</h1>;
          return <Details model={model} instances={instancesOf(model, instances.data)} />;
        }}
      </Loaded>
    </>
  );
}

function Details({ model, instances }: { model: Model; instances: Instance[] }) {
  const why = obstacles(instances);
  return (
    <>
      <Head model={model} instances={instances} />
      {why !== null && <ObstacleList obstacles={why} />}
      <StartUp model={model.name} />
      <InstanceTable instances={instances} />
      <UseIt model={model.name} />
    </>
  );
}

function Head({ model, instances }: { model: Model; instances: Instance[] }) {
  const { t } = useTranslation();
  const onItsWay = arriving(instances);
  const context = instances.find(({ context_length }) => context_length !== null)?.context_length ?? null;
  const backend = model.backend ?? instances.find((each) => each.backend !== null)?.backend;
  return (
    <section data-state={model.state}>
      <div className="page-head is-tight">
        <h1>{model.name}</h1>
        <StateMark state={model.state} />
        <span className="soft">
          {t("models.readyOf", { ready: model.ready_replicas, desired: model.replicas })}
        </span>
        <ModelActs model={model} instances={instances} />
      </div>
      {model.state_message && <p className="sentence">{model.state_message}</p>}
      {onItsWay?.progress && <ProgressBar progress={onItsWay.progress} />}
      <dl className="facts">
        <Fact name={t("model.source")} value={<code>{model.source}</code>} />
        <Fact name={t("model.backend")} value={backend ? <code>{backend}</code> : t("model.automatic")} />
        <Fact name={t("model.generation")} value={model.generation} />
        {context !== null && <Fact name={t("model.context")} value={t("model.tokens", { count: context })} />}
      </dl>
    </section>
  );
}

function Fact({ name, value }: { name: string; value: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
