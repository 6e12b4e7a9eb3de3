// All deployments: what each does, why one does not, what it claims and uses, and what to do with several at once.

import "./models.css";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Model } from "../api/types";
import { Command } from "../parts/Command";
import { Loaded } from "../parts/Loaded";
import { useInstances, useMe, useModels } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { Bulk } from "./Bulk";
import { type DeploymentRow, narrowed, rowsOf } from "./fleet";
import { ModelTable } from "./ModelTable";
import { GROUPS, type Group, type ModelsChange, type ModelsSearch, modelsSearch } from "./search";
import { useTraffic } from "./useTraffic";

const route = getRouteApi("/models/");

export function ModelsPage() {
  const { t } = useTranslation();
  const models = useModels();
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
          {list.items.length === 0 ? <NoModels /> : <Deployments models={list.items} isAdmin={isAdmin} />}
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

function Deployments({ models, isAdmin }: { models: Model[]; isAdmin: boolean }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const instances = useInstances();
  const traffic = useTraffic();
  const search = route.useSearch();
  const sought = useDeferredValue(search);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const all = rowsOf(models, instances.data?.items ?? [], traffic.data ?? null);
  const rows = narrowed(all, sought);
  const chosen = rows.filter(({ model }) => picked.has(model.name));
  const set = (change: ModelsChange) =>
    void navigate({ to: "/models", search: modelsSearch({ ...search, ...change }), replace: true });
  return (
    <>
      <Filters rows={all} search={search} set={set} />
      {chosen.length > 0 && <Bulk rows={chosen} onDone={() => setPicked(new Set())} />}
      {rows.length === 0 ? (
        <div className="empty">
          <p>{t("deployments.noneFound")}</p>
          <Link className="button" to="/models">
            {t("deployments.showAll")}
          </Link>
        </div>
      ) : (
        <ModelTable rows={rows} search={search} set={set} {...(isAdmin && { picked, onPick: setPicked })} />
      )}
    </>
  );
}

interface FiltersProps {
  rows: DeploymentRow[];
  search: ModelsSearch;
  set: (change: ModelsChange) => void;
}

function Filters({ rows, search, set }: FiltersProps) {
  const { t } = useTranslation();
  const names = (found: (string | null)[]) =>
    [...new Set(found)].filter((each) => each !== null).sort((a, b) => a.localeCompare(b));
  const workers = names(rows.flatMap(({ instances }) => instances.map(({ worker }) => worker)));
  const backends = names(rows.map(({ backend }) => backend));
  return (
    <div className="toolbar">
      <input
        className="search"
        type="search"
        aria-label={t("deployments.filter")}
        placeholder={t("deployments.filter")}
        size={28}
        value={search.q ?? ""}
        onChange={(event) => set({ q: event.currentTarget.value })}
      />
      <Choice
        label={t("models.state")}
        value={search.state}
        options={GROUPS.map((each) => [each, t(`deployments.groups.${each}`)])}
        onPick={(state) => set({ state: state as Group | undefined })}
      />
      <Choice
        label={t("model.backend")}
        value={search.backend}
        options={backends.map((each) => [each, each])}
        onPick={(backend) => set({ backend })}
      />
      <Choice
        label={t("model.worker")}
        value={search.worker}
        options={workers.map((each) => [each, each])}
        onPick={(worker) => set({ worker })}
      />
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string | undefined;
  options: [value: string, words: string][];
  onPick: (value: string | undefined) => void;
}

function Choice({ label, value, options, onPick }: ChoiceProps) {
  const { t } = useTranslation();
  const isKnown = value === undefined || options.some(([each]) => each === value);
  return (
    <label>
      {label}
      <select value={value ?? ""} onChange={(event) => onPick(event.currentTarget.value || undefined)}>
        <option value="">{t("deployments.all")}</option>
        {!isKnown && <option value={value}>{value}</option>}
        {options.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
