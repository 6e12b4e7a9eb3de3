// One deployment, with the same tabs as every object; the address says which one is open.

import "./models.css";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";
import type { Instance, Model } from "../api/types";
import { LogTab } from "../logs/LogTab";
import { Loaded } from "../parts/Loaded";
import { ProgressBar } from "../parts/ProgressBar";
import { StateMark } from "../parts/StateMark";
import { useInstances, useModels } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { Danger } from "./Danger";
import { EventsTab } from "./EventsTab";
import { InstanceTable } from "./InstanceTable";
import { ModelActs } from "./ModelActs";
import { ObstacleList } from "./ObstacleList";
import { StartUp } from "./StartUp";
import { type ModelSearch, TABS, type Tab } from "./search";
import { arriving, instancesOf, obstacles } from "./story";
import { UseIt } from "./UseIt";

const MetricsTab = lazy(() => import("./MetricsTab"));
const ConfigTab = lazy(() => import("./ConfigTab"));

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
  const { t } = useTranslation();
  const { tab = "overview" }: ModelSearch = useSearch({ from: "/models/$" });
  return (
    <>
      <Head model={model} instances={instances} />
      <TabList tab={tab} model={model.name} />
      <div role="tabpanel" id="model-panel" aria-labelledby={`model-tab-${tab}`} className="tab-panel">
        <Suspense fallback={<p className="soft">{t("common.loading")}</p>}>
          <Panel tab={tab} model={model} instances={instances} />
        </Suspense>
      </div>
    </>
  );
}

function Panel({ tab, model, instances }: { tab: Tab; model: Model; instances: Instance[] }) {
  switch (tab) {
    case "instances":
      return <InstanceTable instances={instances} isWhole />;
    case "events":
      return <EventsTab model={model.name} />;
    case "logs":
      return <LogTab instances={instances} />;
    case "metrics":
      return <MetricsTab model={model.name} />;
    case "config":
      return <ConfigTab model={model} instances={instances} />;
    case "use":
      return <UseIt model={model.name} />;
    default:
      return <Overview model={model} instances={instances} />;
  }
}

function Overview({ model, instances }: { model: Model; instances: Instance[] }) {
  const why = obstacles(instances);
  return (
    <>
      {why !== null && <ObstacleList obstacles={why} />}
      <StartUp model={model.name} />
      <InstanceTable instances={instances} />
    </>
  );
}

function TabList({ tab, model }: { tab: Tab; model: string }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const open = (each: Tab) =>
    void navigate({
      to: "/models/$",
      params: { _splat: model },
      search: each === "overview" ? {} : { tab: each },
    });
  /** As a tab list is used with a keyboard: one stop, arrows within. */
  const onKeyDown = (event: React.KeyboardEvent) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (steps === undefined) return;
    const next = TABS[(TABS.indexOf(tab) + steps + TABS.length) % TABS.length] ?? "overview";
    open(next);
    document.getElementById(`model-tab-${next}`)?.focus();
  };
  return (
    <div className="model-tabs" role="tablist" aria-label={t("deployments.parts")} onKeyDown={onKeyDown}>
      {TABS.map((each) => (
        <button
          key={each}
          type="button"
          role="tab"
          id={`model-tab-${each}`}
          aria-selected={each === tab}
          aria-controls="model-panel"
          tabIndex={each === tab ? 0 : -1}
          onClick={() => open(each)}
        >
          {t(`deployments.tabs.${each}`)}
        </button>
      ))}
    </div>
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
        <Danger model={model} />
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
