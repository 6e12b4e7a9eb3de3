// Deploying a model: what, on what, where; beside it, always, whether it fits.

import "./deploy.css";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Backend, Model } from "../api/types";
import { Command } from "../parts/Command";
import { Loaded } from "../parts/Loaded";
import { Refused } from "../parts/Refused";
import { useAct } from "../parts/useAct";
import { usePlatform } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { FitPanel } from "./FitPanel";
import { OptionsForm } from "./OptionsForm";
import {
  bodyOf,
  commandOf,
  copied,
  KINDS,
  kindOf,
  NOTHING,
  nameFor,
  patched,
  placeOf,
  type SourceKind,
  type Spec,
  sourceOf,
} from "./spec";
import { Where } from "./Where";

export function DeployPage() {
  const { copy } = useSearch({ from: "/deploy" });
  return copy === undefined ? <Draft first={NOTHING} /> : <CopyOf key={copy} name={copy} />;
}

/** The configuration of another deployment, as a draft of a new one. */
function CopyOf({ name }: { name: string }) {
  const { api } = usePlatform();
  const path = `/api/v1/models/${encodeURIComponent(name)}`;
  const spec = useQuery({
    queryKey: ["copy", name],
    gcTime: 0,
    queryFn: async () => {
      const { generation } = await api.get<Model>(path);
      return (await api.get<{ spec: Spec }>(`${path}/history/${generation}`)).spec;
    },
  });
  return <Loaded query={spec}>{(found) => <Draft first={copied(found)} />}</Loaded>;
}

function Draft({ first }: { first: Spec }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const navigate = useNavigate();
  const { act, isBusy, error } = useAct();
  const [spec, setSpec] = useState<Spec>(first);
  usePageTitle(t("deploy.title"));
  const set = (change: Partial<Spec>) => setSpec((held) => ({ ...held, ...change }));
  const send = () =>
    act(async () => {
      const made = await api.post<Model>("/api/v1/models", bodyOf(spec));
      await navigate({ to: "/models/$", params: { _splat: made.name } });
    });
  return (
    <>
      <p className="back">
        <Link to="/models">← {t("model.back")}</Link>
      </p>
      <div className="page-head">
        <h1>{t("deploy.title")}</h1>
      </div>
      <div className="deploy">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <Source spec={spec} onChange={set} />
          <Engine spec={spec} onChange={set} />
          <Replicas spec={spec} onChange={set} />
          <Where placement={spec.placement} onChange={(placement) => set({ placement })} />
          <Code spec={spec} onChange={set} />
          <Refused error={error} />
          <div className="actions">
            <button type="submit" className="button is-main" disabled={isBusy}>
              {t("deploy.send")}
            </button>
          </div>
        </form>
        <div className="beside">
          <FitPanel spec={spec} onApply={(change) => setSpec((held) => patched(held, change))} />
          <section>
            <h2>{t("deploy.same")}</h2>
            <Command label={t("deploy.same")} text={commandOf(spec)} />
          </section>
        </div>
      </div>
    </>
  );
}

interface PartProps {
  spec: Spec;
  onChange: (change: Partial<Spec>) => void;
}

function Source({ spec, onChange }: PartProps) {
  const { t } = useTranslation();
  const [kind, setKind] = useState<SourceKind>(kindOf(spec.source));
  const [isNamed, setNamed] = useState(spec.name !== "");
  const set = (source: string) => onChange(isNamed ? { source } : { source, name: nameFor(source) });
  const isHub = kind !== "local";
  return (
    <fieldset className="group">
      <legend>{t("deploy.what")}</legend>
      <div className="tabs" role="tablist" aria-label={t("deploy.what")}>
        {KINDS.map((each) => (
          <button
            key={each}
            type="button"
            role="tab"
            aria-selected={each === kind}
            onClick={() => {
              setKind(each);
              set(sourceOf(each, each === "local" || kind === "local" ? "" : placeOf(spec.source)));
            }}
          >
            {t(`deploy.kinds.${each}`)}
          </button>
        ))}
      </div>
      <label className="field">
        {t(isHub ? "deploy.repository" : "deploy.path")}
        <input
          required
          spellCheck={false}
          aria-describedby="deploy-source"
          value={placeOf(spec.source)}
          onChange={(event) => set(sourceOf(kind, event.currentTarget.value))}
        />
        <span id="deploy-source">{t(isHub ? "deploy.repositoryHelp" : "deploy.pathHelp")}</span>
      </label>
      {isHub && (
        <div className="fields">
          <label className="field">
            {t("deploy.include")}
            <input
              aria-describedby="deploy-include"
              value={(spec.include ?? []).join(" ")}
              onChange={(event) =>
                onChange({ include: event.currentTarget.value.split(/\s+/).filter(Boolean) })
              }
            />
            <span id="deploy-include">{t("deploy.includeHelp")}</span>
          </label>
          <label className="field">
            {t("deploy.revision")}
            <input
              value={spec.source_revision ?? ""}
              onChange={(event) => onChange({ source_revision: event.currentTarget.value })}
            />
          </label>
        </div>
      )}
      <label className="field">
        {t("deploy.name")}
        <input
          required
          spellCheck={false}
          aria-describedby="deploy-name"
          value={spec.name}
          onChange={(event) => {
            setNamed(event.currentTarget.value !== "");
            onChange({ name: event.currentTarget.value });
          }}
        />
        <span id="deploy-name">{t("deploy.nameHelp")}</span>
      </label>
    </fieldset>
  );
}

function Engine({ spec, onChange }: PartProps) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const backends = useQuery({
    queryKey: ["backends"],
    queryFn: () => api.get<{ items: Backend[] }>("/api/v1/backends"),
  });
  const items = backends.data?.items ?? [];
  const chosen = items.find(({ name }) => name === spec.backend);
  const known = chosen?.options ?? items.flatMap(({ options }) => options);
  return (
    <>
      <fieldset className="group">
        <legend>{t("deploy.engine")}</legend>
        <label className="field">
          {t("deploy.engine")}
          <select
            value={spec.backend ?? ""}
            onChange={(event) => onChange({ backend: event.currentTarget.value || null })}
          >
            <option value="">{t("deploy.automatic")}</option>
            {items.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </fieldset>
      <OptionsForm
        known={uniqueByName(known)}
        options={spec.options}
        onChange={(options) => onChange({ options })}
      />
    </>
  );
}

function uniqueByName<T extends { name: string }>(items: T[]): T[] {
  return [...new Map(items.map((each) => [each.name, each])).values()];
}

function Replicas({ spec, onChange }: PartProps) {
  const { t } = useTranslation();
  const range = spec.autoscale;
  const number = (value: string) => Math.max(0, Math.min(1000, Number.parseInt(value, 10) || 0));
  return (
    <fieldset className="group">
      <legend>{t("deploy.replicas")}</legend>
      <div className="fields">
        {range ? (
          <>
            <NumberOf
              label={t("deploy.from")}
              value={range.min}
              onValue={(min) => onChange({ autoscale: { ...range, min } })}
            />
            <NumberOf
              label={t("deploy.to")}
              value={range.max}
              onValue={(max) => onChange({ autoscale: { ...range, max } })}
            />
          </>
        ) : (
          <label className="field">
            {t("deploy.replicas")}
            <input
              type="number"
              min={0}
              max={1000}
              value={spec.replicas}
              onChange={(event) => onChange({ replicas: number(event.currentTarget.value) })}
            />
          </label>
        )}
      </div>
      <label className="check">
        <input
          type="checkbox"
          checked={Boolean(range)}
          onChange={(event) =>
            onChange({
              autoscale: event.currentTarget.checked ? { min: 1, max: Math.max(2, spec.replicas) } : null,
            })
          }
        />
        {t("deploy.follow")}
      </label>
    </fieldset>
  );
}

function NumberOf(props: { label: string; value: number; onValue: (value: number) => void }) {
  const { label, value, onValue } = props;
  return (
    <label className="field">
      {label}
      <input
        type="number"
        min={0}
        max={1000}
        value={value}
        onChange={(event) => onValue(Number.parseInt(event.currentTarget.value, 10) || 0)}
      />
    </label>
  );
}

function Code({ spec, onChange }: PartProps) {
  const { t } = useTranslation();
  const isDangerous = Boolean(spec.trust_remote_code || spec.allow_pickle);
  return (
    <details className={isDangerous ? "group is-danger" : "group"} open={isDangerous || undefined}>
      <summary>{t("deploy.code")}</summary>
      <label className="check">
        <input
          type="checkbox"
          checked={spec.trust_remote_code ?? false}
          onChange={(event) => onChange({ trust_remote_code: event.currentTarget.checked })}
        />
        {t("deploy.trust")}
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={spec.allow_pickle ?? false}
          onChange={(event) => onChange({ allow_pickle: event.currentTarget.checked })}
        />
        {t("deploy.pickle")}
      </label>
      <p className="sentence">{t("deploy.danger")}</p>
    </details>
  );
}
