// The configuration as a text that is changed: what it would do is said beside it, before it is done.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api/client";
import type { Instance, Model } from "../api/types";
import { type Evaluation, useSettled } from "../deploy/useFit";
import { Refused } from "../parts/Refused";
import { useAct } from "../parts/useAct";
import { usePlatform } from "../platform";
import { Diff } from "./ConfigTab";
import { useConsequences } from "./impact";
import { patchOf, restarts, type Spec } from "./patch";
import { parsed, placeOf, YamlError, yamlOf } from "./yaml";

interface Props {
  model: Model;
  spec: Spec;
  instances: Instance[];
  onClose: () => void;
}

export function ConfigEdit({ model, spec, instances, onClose }: Props) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const before = yamlOf(spec);
  const [text, setText] = useState(before);
  const { act, isBusy, error } = useAct();
  const [refused, setRefused] = useState<string | null>(null);
  const read = readSpec(text);
  const draft = "spec" in read ? read.spec : null;
  const patch = draft === null ? null : patchOf(spec, draft);
  const send = async () => {
    setRefused(null);
    try {
      await api.patch(`/api/v1/models/${encodeURIComponent(model.name)}`, patch);
    } catch (failure) {
      if (failure instanceof ApiError) setRefused(failure.param);
      throw failure;
    }
  };
  const apply = async () => {
    if (patch !== null && (await act(send))) onClose();
  };
  const refusedLine = refused === null ? null : placeOf(text, refused);
  return (
    <form
      className="config-edit"
      onSubmit={(event) => {
        event.preventDefault();
        void apply();
      }}
    >
      <div className="stack">
        <label className="field">
          {t("deployments.editLabel")}
          <textarea
            className="config"
            spellCheck={false}
            rows={Math.min(32, Math.max(12, text.split("\n").length + 1))}
            aria-invalid={draft === null}
            aria-describedby="config-said"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <div id="config-said">
          {"line" in read && (
            <p className="notice is-bad" role="alert">
              {t("deployments.notYaml", { line: read.line })}
            </p>
          )}
          {error !== null && refusedLine !== null && (
            <strong className="refused-field">
              {t("deployments.atLine", { line: refusedLine, field: refused ?? "" })}
            </strong>
          )}
          <Refused error={error} />
        </div>
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            {t("common.cancel")}
          </button>
          <button
            type="submit"
            className="button is-main"
            disabled={isBusy || patch === null || Object.keys(patch).length === 0}
          >
            {t("deployments.apply")}
          </button>
        </div>
      </div>
      <div className="stack config-beside">
        {draft !== null && (
          <>
            <Verdict draft={draft} isChanged={Object.keys(patch ?? {}).length > 0} />
            <Breaks model={model} instances={instances} fields={restarts(spec, draft)} />
            <section>
              <h2>{t("deployments.willChange")}</h2>
              <Diff label={t("deployments.willChange")} before={before} after={yamlOf(draft)} />
            </section>
          </>
        )}
      </div>
    </form>
  );
}

function readSpec(text: string): { spec: Spec } | { line: number } {
  try {
    const spec = parsed(text);
    if (typeof spec !== "object" || spec === null || Array.isArray(spec)) return { line: 1 };
    return { spec };
  } catch (failure) {
    if (!(failure instanceof YamlError)) throw failure;
    return { line: failure.line };
  }
}

/** The scheduler's answer to the text as it is, a moment after the last key. */
function Verdict({ draft, isChanged }: { draft: Spec; isChanged: boolean }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const { name: _, ...asked } = draft;
  const text = useSettled(JSON.stringify(asked));
  const answer = useQuery({
    queryKey: ["fit", text],
    enabled: isChanged,
    staleTime: 5000,
    retry: false,
    queryFn: ({ signal }) => api.post<Evaluation>("/api/v1/evaluate", JSON.parse(text), signal),
  });
  if (!isChanged) return <p className="soft">{t("deployments.unchanged")}</p>;
  return (
    <section aria-label={t("deploy.fit")} aria-live="polite">
      <h2>{t("deploy.fit")}</h2>
      {answer.error instanceof ApiError && <Refused error={answer.error.message} />}
      {answer.data !== undefined && (
        <div className={answer.data.fits ? "notice" : "notice is-bad"}>
          <strong>{t(answer.data.fits ? "deploy.fits" : "deploy.fitsNot")}</strong>
          {[...answer.data.reasons, ...answer.data.warnings].slice(0, 6).map((each, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: sentences may repeat
            <p key={at}>{each.message}</p>
          ))}
        </div>
      )}
    </section>
  );
}

function Breaks({ model, instances, fields }: { model: Model; instances: Instance[]; fields: string[] }) {
  const { t } = useTranslation();
  const impact = useConsequences(model.name, fields.length > 0);
  const ids = instances.filter(({ holds_claim }) => holds_claim).map(({ id }) => id);
  if (fields.length === 0 || ids.length === 0) return <p>{t("deployments.nothingRestarts")}</p>;
  const told = { count: ids.length, ids: ids.join(", "), fields: fields.join(", ") };
  return (
    <ul className="consequences">
      {[t("deployments.restarts", told), ...impact].map((each) => (
        <li key={each}>{each}</li>
      ))}
    </ul>
  );
}
