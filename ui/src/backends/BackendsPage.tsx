// Engines: how well each is known to run on which hardware, its versions on workers, and its options.

import "./backends.css";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Backend, Build } from "../api/types";
import { Confirm } from "../parts/Confirm";
import { Loaded } from "../parts/Loaded";
import { Refused } from "../parts/Refused";
import { Mark, type Shape, type Tone } from "../parts/StateMark";
import { useAct } from "../parts/useAct";
import { useQuestion } from "../parts/useQuestion";
import { useMe, usePlatform } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { Describe } from "./Describe";
import { Install } from "./Install";
import { Options } from "./Options";

const BUILDS_EVERY_MS = 2000;
/** As the API says them, in English. */
const LEVELS = {
  "run in our tests": "tested",
  "command line validated": "validated",
  declared: "declared",
} as const;
const route = getRouteApi("/backends");

export function BackendsPage() {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const backends = useQuery({
    queryKey: ["backends"],
    queryFn: () => api.get<{ items: Backend[] }>("/api/v1/backends"),
  });
  const builds = useQuery({
    queryKey: ["builds"],
    queryFn: () => api.get<{ items: Build[] }>("/api/v1/backends/versions"),
    refetchInterval: BUILDS_EVERY_MS,
  });
  const isAdmin = useMe().data?.role === "admin";
  const [isDescribing, setDescribing] = useState(false);
  usePageTitle(t("engines.title"));
  return (
    <Loaded query={backends}>
      {({ items }) => (
        <>
          <div className="page-head">
            <h1>{t("engines.title")}</h1>
            {isAdmin && (
              <button type="button" className="button push" onClick={() => setDescribing(true)}>
                {t("engines.describe")}
              </button>
            )}
          </div>
          <p className="sentence">{t("engines.intro")}</p>
          <div className="engines">
            {items.map((backend) => (
              <Engine
                key={backend.name}
                backend={backend}
                builds={(builds.data?.items ?? []).filter((build) => build.backend === backend.name)}
                isAdmin={isAdmin}
              />
            ))}
          </div>
          {isDescribing && <Describe onClose={() => setDescribing(false)} />}
        </>
      )}
    </Loaded>
  );
}

interface EngineProps {
  backend: Backend;
  builds: Build[];
  isAdmin: boolean;
}

function Engine({ backend, builds, isAdmin }: EngineProps) {
  const { t } = useTranslation();
  const { api, queries } = usePlatform();
  const navigate = useNavigate();
  const search = route.useSearch();
  const isOpen = search.engine === backend.name;
  const [question, ask, close] = useQuestion<"install" | "delete">();
  const toggle = () =>
    void navigate({ to: "/backends", search: isOpen ? {} : { engine: backend.name }, replace: true });
  const remove = async () => {
    await api.delete(`/api/v1/backends/${encodeURIComponent(backend.name)}`);
    await queries.invalidateQueries({ queryKey: ["backends"] });
  };
  return (
    <section className="card engine" aria-label={backend.name}>
      <div className="page-head is-tight">
        <h2 className="name">{backend.name}</h2>
        {!backend.builtin && <span className="tag">{t("engines.custom")}</span>}
        <div className="actions push">
          {backend.options.length > 0 && (
            <button type="button" className="quiet-button" aria-expanded={isOpen} onClick={toggle}>
              {t("engines.options")} ({backend.options.length})<span className="hidden"> {backend.name}</span>
            </button>
          )}
          {isAdmin && backend.builtin && (
            <button type="button" className="quiet-button" onClick={() => ask("install")}>
              {t("engines.install")}
              <span className="hidden"> {backend.name}</span>
            </button>
          )}
          {isAdmin && !backend.builtin && (
            <button type="button" className="quiet-button" onClick={() => ask("delete")}>
              {t("engines.delete")}
              <span className="hidden"> {backend.name}</span>
            </button>
          )}
        </div>
      </div>
      <dl className="facts">
        {Object.entries(backend.support).map(([kind, level]) => (
          <div key={kind}>
            <dt>{kind}</dt>
            <dd>{level in LEVELS ? t(`engines.levels.${LEVELS[level as keyof typeof LEVELS]}`) : level}</dd>
          </div>
        ))}
      </dl>
      <ul className="builds" aria-label={t("engines.builds")}>
        {builds.length === 0 && <li className="soft">{t("engines.noBuilds")}</li>}
        {builds.map((build) => (
          <BuildLine
            key={`${build.version} ${build.source} ${build.device_kinds.join()}`}
            build={build}
            isAdmin={isAdmin}
          />
        ))}
      </ul>
      {isOpen && <Options backend={backend} q={search.q ?? ""} />}
      {question === "install" && <Install backend={backend} onClose={close} />}
      {question === "delete" && (
        <Confirm
          title={t("engines.deleteTitle", { engine: backend.name })}
          consequences={[t("engines.deleteText")]}
          verb={t("engines.delete")}
          onConfirm={remove}
          onClose={close}
        />
      )}
    </section>
  );
}

type BuildState = "ready" | "installing" | "waiting" | "failed" | "installable";
const LOOKS: Record<BuildState, [Shape, Tone]> = {
  ready: ["check", "ok"],
  installing: ["turning", "busy"],
  waiting: ["dashed", "wait"],
  failed: ["cross", "bad"],
  installable: ["dashed", "off"],
};

function BuildLine({ build, isAdmin }: { build: Build; isAdmin: boolean }) {
  const { t } = useTranslation();
  const state = build.state as BuildState;
  const there = build.workers.map(({ worker }) => worker).join(", ");
  return (
    <li data-version={build.version} data-state={state}>
      <span className="mono">{build.version}</span>
      <span className="soft small">{build.device_kinds.join(", ")}</span>
      <Mark look={LOOKS[state]} word={t(`engines.states.${state}`)} />
      {there !== "" && <span className="soft small">{t("engines.on", { workers: there })}</span>}
      {build.is_default && <span className="tag">{t("engines.isDefault")}</span>}
      {isAdmin && build.id !== null && <BuildActs build={build} />}
      {build.workers.map(({ worker, state_message: message, line }) =>
        message || (line && state === "installing") ? (
          <p key={worker} className="sentence">
            {worker}: {message || line}
          </p>
        ) : null,
      )}
    </li>
  );
}

function BuildActs({ build }: { build: Build }) {
  const { t } = useTranslation();
  const { api, queries } = usePlatform();
  const { act, isBusy, error } = useAct();
  const [question, ask, close] = useQuestion<Build>();
  const after = async (done: Promise<unknown>) => {
    await done;
    await queries.invalidateQueries({ queryKey: ["builds"] });
  };
  const path = `/api/v1/backends/versions/${build.id}`;
  const names = (build.instances as { model?: string }[]).map(({ model }) => model).filter(Boolean);
  const title = t("engines.removeTitle", { engine: build.backend, version: build.version });
  return (
    <>
      {!build.is_default && (
        <button
          type="button"
          className="quiet-button"
          disabled={isBusy}
          onClick={() => void act(() => after(api.post(`${path}/default`)))}
        >
          {t("engines.setDefault")}
          <span className="hidden"> {`${build.backend} ${build.version}`}</span>
        </button>
      )}
      <button type="button" className="quiet-button" onClick={() => ask(build)}>
        {t("engines.remove")}
        <span className="hidden"> {`${build.backend} ${build.version}`}</span>
      </button>
      <Refused error={error} />
      {question !== null && (
        <Confirm
          title={title}
          consequences={[
            ...(names.length === 0 ? [] : [t("engines.removeUsed", { names: names.join(", ") })]),
            t("engines.removeText"),
          ]}
          verb={t("engines.remove")}
          onConfirm={() => after(api.delete(path))}
          onClose={close}
        />
      )}
    </>
  );
}
