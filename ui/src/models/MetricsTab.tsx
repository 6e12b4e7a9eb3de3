// What a deployment did over time, from the rows of its requests, and what it does now.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Page } from "../api/types";
import { seconds } from "../format";
import { Loaded } from "../parts/Loaded";
import { useMe, usePlatform } from "../platform";
import { useImpact } from "./impact";
import { curvesOf, figuresOf, type Row, SECONDS } from "./metrics";
import { type MetricSpan, type ModelSearch, SPANS } from "./search";

const Chart = lazy(() => import("../parts/Chart"));
const EVERY_MS = 10_000;
const PAGE = 200;
const MOST_PAGES = 10;

interface Read {
  rows: Row[];
  total: number;
  at: number;
}

function useRequests(model: string, span: MetricSpan) {
  const { api } = usePlatform();
  return useQuery({
    queryKey: ["metrics", model, span],
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<Read> => {
      const at = Date.now() / 1000;
      const from = new Date((at - SECONDS[span]) * 1000).toISOString();
      const query = new URLSearchParams({ model, from, limit: String(PAGE) });
      const rows: Row[] = [];
      let total = 0;
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const found = await api.get<Page<Row>>(`/api/v1/requests?${query}`, signal);
        rows.push(...found.items);
        total = found.total;
        if (found.next_cursor === null) break;
        query.set("cursor", found.next_cursor);
      }
      return { rows, total, at };
    },
  });
}

export default function MetricsTab({ model }: { model: string }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const { span = "1h" }: ModelSearch = useSearch({ from: "/models/$" });
  const requests = useRequests(model, span);
  return (
    <>
      <div className="toolbar">
        <label>
          {t("deployments.span")}
          <select
            value={span}
            onChange={(event) =>
              void navigate({
                to: "/models/$",
                params: { _splat: model },
                search: { tab: "metrics", span: event.currentTarget.value as MetricSpan },
                replace: true,
              })
            }
          >
            {SPANS.map((each) => (
              <option key={each} value={each}>
                {t(`deployments.spans.${each}`)}
              </option>
            ))}
          </select>
        </label>
        <span className="soft small">{t("deployments.utc")}</span>
      </div>
      <Loaded query={requests}>
        {(read) => (
          <>
            <FigureList model={model} read={read} span={span} />
            {read.rows.length === 0 ? (
              <p className="soft">{t("deployments.noRequests")}</p>
            ) : (
              <Charts read={read} span={span} />
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

function FigureList({ model, read, span }: { model: string; read: Read; span: MetricSpan }) {
  const { t } = useTranslation();
  const isAdmin = useMe().data?.role === "admin";
  const now = useImpact(model, isAdmin).data;
  const { requests, errors, ttft, tpot, tokensPerSecond, queued } = figuresOf(read.rows, SECONDS[span]);
  const time = (value: number | null) => (value === null ? t("common.none") : brief(value));
  const facts: [string, string][] = [
    [t("deployments.figures.requests"), String(requests)],
    [t("deployments.figures.errors"), String(errors)],
    [t("deployments.figures.ttft"), time(ttft)],
    [t("deployments.figures.tpot"), time(tpot)],
    [t("deployments.figures.tokens"), tokensPerSecond.toFixed(1)],
    [t("deployments.figures.queue"), time(queued)],
    [t("deployments.figures.inFlight"), String(now?.in_flight ?? t("common.none"))],
    [t("deployments.figures.waiting"), String(now?.queued ?? t("common.none"))],
  ];
  return (
    <>
      <dl className="figure-list">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {read.total > read.rows.length && (
        <p className="sentence">
          {t("deployments.newestOnly", { count: read.rows.length, total: read.total })}
        </p>
      )}
    </>
  );
}

/** 0.0123 -> "12 ms" */
function brief(value: number): string {
  return value < 1 ? `${(value * 1000).toFixed(value < 0.01 ? 1 : 0)} ms` : seconds(value);
}

function Charts({ read, span }: { read: Read; span: MetricSpan }) {
  const { t } = useTranslation();
  const charts = useMemo(() => {
    const curves = curvesOf(read.rows, span, read.at);
    const inMs = (values: number[]) => values.map((value) => value * 1000);
    const name = (key: "requests" | "errors" | "p50" | "p95" | "tokens" | "inFlight" | "queue") =>
      t(`deployments.lines.${key}`);
    return [
      {
        title: t("deployments.charts.requests"),
        times: curves.times,
        series: [
          { name: name("requests"), values: curves.requests },
          { name: name("errors"), values: curves.errors },
        ],
      },
      {
        title: t("deployments.charts.tokens"),
        times: curves.times,
        series: [{ name: name("tokens"), values: curves.tokens }],
      },
      {
        title: t("deployments.charts.ttft"),
        times: curves.times,
        series: [
          { name: name("p50"), values: inMs(curves.ttft50) },
          { name: name("p95"), values: inMs(curves.ttft95) },
        ],
      },
      {
        title: t("deployments.charts.tpot"),
        times: curves.times,
        series: [
          { name: name("p50"), values: inMs(curves.tpot50) },
          { name: name("p95"), values: inMs(curves.tpot95) },
        ],
      },
      {
        title: t("deployments.charts.inFlight"),
        times: curves.times,
        series: [{ name: name("inFlight"), values: curves.inFlight }],
      },
      {
        title: t("deployments.charts.queue"),
        times: curves.times,
        series: [{ name: name("queue"), values: inMs(curves.queued) }],
      },
    ];
  }, [read, span, t]);
  return (
    <div className="metric-charts">
      {charts.map(({ title, times, series }) => (
        <section key={title} className="card">
          <h2>{title}</h2>
          <Chart label={title} times={times} series={series} />
        </section>
      ))}
    </div>
  );
}
