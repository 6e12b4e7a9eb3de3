// The configuration as a text: what it is, what it was, what differs, and the way back.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { components } from "../api/schema.gen";
import type { Instance, Model } from "../api/types";
import { Confirm } from "../parts/Confirm";
import { Loaded } from "../parts/Loaded";
import { saveText } from "../parts/saveText";
import { useQuestion } from "../parts/useQuestion";
import { useMe, usePlatform } from "../platform";
import { ConfigEdit } from "./ConfigEdit";
import { diffOf, shortened } from "./diff";
import { useConsequences } from "./impact";
import { restarts } from "./patch";
import type { ModelSearch } from "./search";
import { type Yaml, yamlOf } from "./yaml";

type Revision = components["schemas"]["RevisionShape"];
type Whole = Omit<components["schemas"]["WholeRevisionShape"], "spec"> & { spec: { [key: string]: Yaml } };

function pathOf(model: string, generation?: number): string {
  const history = `/api/v1/models/${encodeURIComponent(model)}/history`;
  return generation === undefined ? history : `${history}/${generation}`;
}

/** What never changes is not asked for twice. */
function useRevision(model: Model, generation: number | undefined) {
  const { api } = usePlatform();
  return useQuery({
    queryKey: ["revision", model.id, generation],
    enabled: generation !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => api.get<Whole>(pathOf(model.name, generation), signal),
  });
}

export default function ConfigTab({ model, instances }: { model: Model; instances: Instance[] }) {
  const { t } = useTranslation();
  const isAdmin = useMe().data?.role === "admin";
  const current = useRevision(model, model.generation);
  const [question, ask, close] = useQuestion<"edit">();
  return (
    <Loaded query={current}>
      {({ spec }) => {
        const text = yamlOf(spec);
        if (question === "edit") {
          return <ConfigEdit model={model} spec={spec} instances={instances} onClose={close} />;
        }
        return (
          <>
            <section aria-label={t("deployments.configNow")}>
              <div className="section-head">
                <h2>{t("deployments.configNow")}</h2>
                <div className="actions push">
                  <button
                    type="button"
                    className="button"
                    onClick={() => saveText(`${fileName(model.name)}.yaml`, text, "application/yaml")}
                  >
                    {t("deployments.download")}
                  </button>
                  {isAdmin && (
                    <button type="button" className="button" onClick={() => ask("edit")}>
                      {t("deployments.edit")}
                    </button>
                  )}
                </div>
              </div>
              <section className="config" tabIndex={0} aria-label={t("deployments.editLabel")}>
                <pre>{text}</pre>
              </section>
            </section>
            <Versions model={model} instances={instances} isAdmin={isAdmin} />
          </>
        );
      }}
    </Loaded>
  );
}

export function fileName(model: string): string {
  return model.replace(/[^\w.-]+/g, "-");
}

interface VersionsProps {
  model: Model;
  instances: Instance[];
  isAdmin: boolean;
}

function Versions({ model, instances, isAdmin }: VersionsProps) {
  const { t, i18n } = useTranslation();
  const { api } = usePlatform();
  const navigate = useNavigate();
  const search: ModelSearch = useSearch({ from: "/models/$" });
  const history = useQuery({
    queryKey: ["history", model.id, model.generation],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => (await api.get<{ items: Revision[] }>(pathOf(model.name), signal)).items,
  });
  const moment = new Intl.DateTimeFormat(i18n.language, { dateStyle: "medium", timeStyle: "medium" });
  const compare = (change: Pick<ModelSearch, "from" | "to">) =>
    void navigate({
      to: "/models/$",
      params: { _splat: model.name },
      search: { ...search, tab: "config", ...change },
      replace: true,
    });
  return (
    <section aria-label={t("deployments.versions")}>
      <h2>{t("deployments.versions")}</h2>
      <Loaded query={history}>
        {(items) => {
          const to = search.to ?? model.generation;
          const from = search.from ?? items.find(({ generation }) => generation < to)?.generation;
          return (
            <>
              <div className="card scroll">
                <table className="versions">
                  <thead>
                    <tr>
                      <th className="number">{t("model.generation")}</th>
                      <th>{t("deployments.time")}</th>
                      <th>{t("deployments.by")}</th>
                      <th>{t("deployments.changed")}</th>
                      <th>{t("deployments.before")}</th>
                      <th>{t("deployments.after")}</th>
                      <th>
                        <span className="hidden">{t("deployments.rollback")}</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {items.map((each) => (
                      <tr key={each.generation} data-generation={each.generation}>
                        <td className="number">
                          {each.generation}
                          {each.current && <span className="tag now"> {t("deployments.now")}</span>}
                        </td>
                        <td>
                          <time dateTime={each.at}>{moment.format(new Date(each.at))}</time>
                        </td>
                        <td>{each.actor ?? t("common.none")}</td>
                        <td className="mono">{each.fields.join(", ") || t("deployments.made")}</td>
                        <td>
                          <input
                            type="radio"
                            name="from"
                            aria-label={t("deployments.beforeOf", { generation: each.generation })}
                            checked={each.generation === from}
                            onChange={() => compare({ from: each.generation })}
                          />
                        </td>
                        <td>
                          <input
                            type="radio"
                            name="to"
                            aria-label={t("deployments.afterOf", { generation: each.generation })}
                            checked={each.generation === to}
                            onChange={() => compare({ to: each.generation })}
                          />
                        </td>
                        <td>
                          {isAdmin && !each.current && (
                            <Rollback model={model} instances={instances} generation={each.generation} />
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              {from !== undefined && from !== to && <Difference model={model} from={from} to={to} />}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

function Difference({ model, from, to }: { model: Model; from: number; to: number }) {
  const { t } = useTranslation();
  const before = useRevision(model, from);
  const after = useRevision(model, to);
  const title = t("deployments.diff", { from, to });
  return (
    <>
      <h3 className="diff-title">{title}</h3>
      <Loaded query={before}>
        {(first) => (
          <Loaded query={after}>
            {(second) => <Diff label={title} before={yamlOf(first.spec)} after={yamlOf(second.spec)} />}
          </Loaded>
        )}
      </Loaded>
    </>
  );
}

const SIGNS = { same: " ", gone: "-", new: "+", skipped: " " } as const;

export function Diff({ label, before, after }: { label: string; before: string; after: string }) {
  const { t } = useTranslation();
  const lines = diffOf(before, after);
  if (lines.every(({ kind }) => kind === "same")) return <p className="soft">{t("deployments.equal")}</p>;
  return (
    <section className="config diff" tabIndex={0} aria-label={label}>
      <pre>
        {shortened(lines).map(({ kind, text }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
          <span key={at} className={`is-${kind}`}>
            {`${SIGNS[kind]} ${text}\n`}
          </span>
        ))}
      </pre>
    </section>
  );
}

interface RollbackProps {
  model: Model;
  instances: Instance[];
  generation: number;
}

function Rollback({ model, instances, generation }: RollbackProps) {
  const { t } = useTranslation();
  const [question, ask, close] = useQuestion<number>();
  return (
    <>
      <button type="button" className="quiet-button" onClick={() => ask(generation)}>
        {t("deployments.rollback")}
        <span className="hidden">{` ${generation}`}</span>
      </button>
      {question !== null && (
        <RollbackQuestion model={model} instances={instances} generation={generation} onClose={close} />
      )}
    </>
  );
}

function RollbackQuestion({
  model,
  instances,
  generation,
  onClose,
}: RollbackProps & { onClose: () => void }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const impact = useConsequences(model.name, true);
  const now = useRevision(model, model.generation).data;
  const then = useRevision(model, generation).data;
  const fields = now === undefined || then === undefined ? [] : restarts(now.spec, then.spec);
  const ids = instances.filter(({ holds_claim }) => holds_claim).map(({ id }) => id);
  const consequence =
    fields.length === 0
      ? t("deployments.nothingRestarts")
      : t("deployments.restarts", { count: ids.length, ids: ids.join(", "), fields: fields.join(", ") });
  return (
    <Confirm
      title={t("deployments.rollbackTitle", { model: model.name, generation })}
      consequences={[consequence, ...(fields.length > 0 ? impact : []), t("deployments.rollbackKeeps")]}
      verb={t("deployments.rollback")}
      onConfirm={() => api.post(`/api/v1/models/${encodeURIComponent(model.name)}/rollback`, { generation })}
      onClose={onClose}
    />
  );
}
