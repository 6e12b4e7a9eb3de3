// Curves of one model from the rows of its requests; pure.

import type { components } from "../api/schema.gen";
import type { MetricSpan } from "./search";

export type Row = Pick<
  components["schemas"]["RequestShape"],
  "started_at" | "seconds" | "ttft_seconds" | "status" | "completion_tokens" | "queued_seconds"
>;

export const SECONDS: Record<MetricSpan, number> = { "15m": 900, "1h": 3600, "6h": 21_600, "24h": 86_400 };
const POINTS = 60;

export interface Curves {
  times: number[];
  /** Each as many as `times`; zero where nothing happened. */
  requests: number[];
  errors: number[];
  ttft50: number[];
  ttft95: number[];
  tpot50: number[];
  tpot95: number[];
  tokens: number[];
  inFlight: number[];
  queued: number[];
}

/** Seconds for each further token of one answer; null where that cannot be known. */
export function tpotOf({ seconds, ttft_seconds, completion_tokens }: Row): number | null {
  if (ttft_seconds === null || completion_tokens === null || completion_tokens < 2) return null;
  return Math.max(0, seconds - ttft_seconds) / (completion_tokens - 1);
}

/** `now` in seconds since 1970. In flight: requests that ran in a step, by the share of it that they ran. */
export function curvesOf(rows: Row[], span: MetricSpan, now: number): Curves {
  const step = SECONDS[span] / POINTS;
  const start = Math.floor(now / step) * step - (POINTS - 1) * step;
  const steps = Array.from({ length: POINTS }, (_, at) => start + at * step);
  const ended: Row[][] = steps.map(() => []);
  const inFlight = steps.map(() => 0);
  for (const row of rows) {
    const begins = Date.parse(row.started_at) / 1000;
    const ends = begins + row.seconds;
    ended[Math.floor((ends - start) / step)]?.push(row);
    const last = Math.min(POINTS - 1, Math.floor((ends - start) / step));
    for (let at = Math.max(0, Math.floor((begins - start) / step)); at <= last; at += 1) {
      const from = start + at * step;
      const ran = Math.min(ends, from + step) - Math.max(begins, from);
      inFlight[at] = (inFlight[at] ?? 0) + Math.max(0, ran) / step;
    }
  }
  const of = (pick: (row: Row) => number | null, share: number) =>
    ended.map((each) => quantile(known(each.map(pick)), share) ?? 0);
  return {
    times: steps,
    requests: ended.map((each) => each.length),
    errors: ended.map((each) => each.filter(isError).length),
    ttft50: of(({ ttft_seconds }) => ttft_seconds, 0.5),
    ttft95: of(({ ttft_seconds }) => ttft_seconds, 0.95),
    tpot50: of(tpotOf, 0.5),
    tpot95: of(tpotOf, 0.95),
    tokens: ended.map((each) => sum(each.map(({ completion_tokens }) => completion_tokens ?? 0)) / step),
    inFlight,
    queued: of(({ queued_seconds }) => queued_seconds, 0.95),
  };
}

export interface Figures {
  requests: number;
  errors: number;
  ttft: number | null;
  tpot: number | null;
  tokensPerSecond: number;
  queued: number | null;
}

export function figuresOf(rows: Row[], seconds: number): Figures {
  const at95 = (pick: (row: Row) => number | null) => quantile(known(rows.map(pick)), 0.95);
  return {
    requests: rows.length,
    errors: rows.filter(isError).length,
    ttft: at95(({ ttft_seconds }) => ttft_seconds),
    tpot: at95(tpotOf),
    tokensPerSecond: sum(rows.map(({ completion_tokens }) => completion_tokens ?? 0)) / seconds,
    queued: at95(({ queued_seconds }) => queued_seconds),
  };
}

function isError({ status }: Row): boolean {
  return status >= 400;
}

function known(values: (number | null)[]): number[] {
  return values.filter((value) => value !== null);
}

function sum(values: number[]): number {
  return values.reduce((all, each) => all + each, 0);
}

/** The smallest value that so large a share of them does not exceed. */
export function quantile(values: number[], share: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}
