// Who used what, and when: a curve, the same as a table, and as a file.

import "./usage.css";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { count } from "../format";
import { Loaded } from "../parts/Loaded";
import { saveText } from "../parts/saveText";
import { useMe, usePlatform } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import {
  DIMENSIONS,
  type Dimension,
  FIGURES,
  type Figure,
  RANGES,
  type Range,
  type Span,
  spanOf,
  type UsageSearch,
} from "./search";
import { csvOf, curveOf, figureOf, nameOf, ranked, type Sum, total } from "./sums";

const Chart = lazy(() => import("../parts/Chart"));
const EVERY_MS = 30_000;

function useSums(by: string, { from, to }: Span) {
  const { api } = usePlatform();
  const path = `/api/v1/usage?${new URLSearchParams({ by, from: from.toISOString(), to: to.toISOString() })}`;
  return useQuery({
    queryKey: ["usage", path],
    queryFn: async () => (await api.get<{ items: Sum[] }>(path)).items,
    refetchInterval: EVERY_MS,
    placeholderData: (before) => before,
  });
}

export function UsagePage() {
  const { t } = useTranslation();
  const search: UsageSearch = useSearch({ from: "/usage" });
  const me = useMe();
  const { by = "model", show = "requests" } = search;
  const span = spanOf(search, Date.now());
  const sums = useSums(by, span);
  const points = useSums(`${by},${span.step}`, span);
  usePageTitle(t("usage.title"));
  return (
    <>
      <div className="page-head">
        <h1>{t("usage.title")}</h1>
      </div>
      <p className="sentence usage-intro">
        {t("usage.intro")} {me.data !== undefined && me.data.role !== "admin" && t("usage.own")}
      </p>
      <Choices search={search} />
      <Loaded query={points}>{(rows) => <Lines rows={rows} by={by} show={show} span={span} />}</Loaded>
      <Loaded query={sums}>
        {(rows) => <Table rows={ranked(rows, show)} by={by} show={show} span={span} />}
      </Loaded>
    </>
  );
}

function Choices({ search }: { search: UsageSearch }) {
  const { t } = useTranslation();
  const navigate = useNavigate({ from: "/usage" });
  const set = (change: UsageSearch) => void navigate({ search: { ...search, ...change }, replace: true });
  const span = spanOf(search, Date.now());
  const days = { from: day(span.from), to: day(new Date(span.to.getTime() - 1)) };
  const setRange = (range: string) => {
    const { from: _, to: __, ...rest } = search;
    const next = range === "chosen" ? days : { range: range as Range };
    void navigate({ search: { ...rest, ...next }, replace: true });
  };
  return (
    <div className="toolbar choices">
      <label className="field">
        {t("usage.by")}
        <select
          value={search.by ?? "model"}
          onChange={(event) => set({ by: event.currentTarget.value as Dimension })}
        >
          {DIMENSIONS.map((each) => (
            <option key={each} value={each}>
              {t(`usage.dimensions.${each}`)}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        {t("usage.show")}
        <select
          value={search.show ?? "requests"}
          onChange={(event) => set({ show: event.currentTarget.value as Figure })}
        >
          {FIGURES.map((each) => (
            <option key={each} value={each}>
              {t(`usage.figures.${each}`)}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        {t("usage.range")}
        <select
          value={search.from === undefined ? (search.range ?? "7d") : "chosen"}
          onChange={(event) => setRange(event.currentTarget.value)}
        >
          {RANGES.map((each) => (
            <option key={each} value={each}>
              {t(`usage.ranges.${each}`)}
            </option>
          ))}
          <option value="chosen">{t("usage.chosen")}</option>
        </select>
      </label>
      {search.from !== undefined &&
        (["from", "to"] as const).map((end) => (
          <label className="field" key={end}>
            {t(`usage.${end}`)}
            <input
              type="date"
              required
              value={days[end]}
              min={end === "to" ? days.from : undefined}
              max={end === "from" ? days.to : undefined}
              onChange={(event) => {
                if (event.currentTarget.value !== "") set({ ...days, [end]: event.currentTarget.value });
              }}
            />
          </label>
        ))}
    </div>
  );
}

interface PartProps {
  rows: Sum[];
  by: Dimension;
  show: Figure;
  span: Span;
}

function useNames(by: Dimension): (sum: Sum) => string {
  const { t } = useTranslation();
  return (sum) => nameOf(sum, by) ?? t(by === "key" ? "usage.session" : "usage.nobody");
}

function Lines({ rows, by, show, span }: PartProps) {
  const { t } = useTranslation();
  const name = useNames(by);
  const others = t("usage.others");
  // biome-ignore lint/correctness/useExhaustiveDependencies: names follow from `by` and the language
  const curve = useMemo(
    () => curveOf(rows, span, show, name, others),
    [rows, span.from.getTime(), span.to.getTime(), show, by, others],
  );
  const label = t("usage.curveLabel", {
    figure: t(`usage.figures.${show}`),
    step: t(`usage.steps.${span.step}`),
    from: day(span.from),
    to: day(new Date(span.to.getTime() - 1)),
    total: count(total(rows, show)),
  });
  return (
    <section className="card usage-curve">
      <Suspense fallback={<p className="soft chart-room">{t("usage.drawing")}</p>}>
        <Chart label={label} {...curve} />
      </Suspense>
    </section>
  );
}

const COLUMNS = [
  "requests",
  "prompt_tokens",
  "cached_tokens",
  "completion_tokens",
  "reasoning_tokens",
  "images",
  "audio_seconds",
] as const;
type Column = (typeof COLUMNS)[number];

function Table({ rows, by, show, span }: PartProps) {
  const { t } = useTranslation();
  const name = useNames(by);
  const head = (column: Column) => {
    if (column === "cached_tokens") return t("usage.cached");
    return column === "reasoning_tokens" ? t("usage.reasoning") : t(`usage.figures.${column}`);
  };
  const save = () => {
    const body = rows.map((row) => [name(row), ...COLUMNS.map((column) => row[column])]);
    saveText(
      `usage-by-${by}-${day(span.from)}-${day(new Date(span.to.getTime() - 1))}.csv`,
      csvOf([by, ...COLUMNS], body),
    );
  };
  if (rows.length === 0) return <p className="soft">{t("usage.empty")}</p>;
  const largest = Math.max(...rows.map((row) => figureOf(row, show)), 1);
  return (
    <section>
      <div className="page-head is-tight">
        <button type="button" className="button push" onClick={save}>
          {t("usage.csv")}
        </button>
      </div>
      <section className="card scroll" tabIndex={0} aria-label={t("usage.title")}>
        <table>
          <thead>
            <tr>
              <th>{t(`usage.dimensions.${by}`)}</th>
              {COLUMNS.map((column) => (
                <th key={column} className="number">
                  {head(column)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={`${row.model}-${row.key_id}-${row.user_id}`} data-name={name(row)}>
                <td>
                  <Link
                    to="/requests"
                    search={narrowed(row, by)}
                    aria-label={t("usage.requestsOf", { name: name(row) })}
                  >
                    {name(row)}
                  </Link>
                  <div className="track share" aria-hidden="true">
                    <i style={{ width: `${(100 * figureOf(row, show)) / largest}%` }} />
                  </div>
                </td>
                {COLUMNS.map((column) => (
                  <td key={column} className="number">
                    {count(row[column])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{t("usage.all")}</th>
              {COLUMNS.map((column) => (
                <td key={column} className="number">
                  {count(rows.reduce((sum, row) => sum + row[column], 0))}
                </td>
              ))}
            </tr>
          </tfoot>
        </table>
      </section>
    </section>
  );
}

function narrowed(row: Sum, by: Dimension) {
  if (by === "model") return row.model ? { model: row.model } : {};
  if (by === "user") return row.user_id == null ? {} : { user: row.user_id };
  return row.key_id == null ? {} : { key: row.key_id };
}

function day(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}
