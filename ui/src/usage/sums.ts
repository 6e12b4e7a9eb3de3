// From rows of sums to a table, a curve and a file. Pure.

import type { components } from "../api/schema.gen";
import type { Dimension, Figure, Span } from "./search";

export type Sum = components["schemas"]["UsageShape"];

export interface Series {
  name: string;
  values: number[];
}

export interface Curve {
  /** Seconds since 1970, the beginning of each point. */
  times: number[];
  series: Series[];
}

const LINES = 5;

export function figureOf(sum: Sum, figure: Figure): number {
  return figure === "tokens" ? sum.prompt_tokens + sum.completion_tokens : sum[figure];
}

/** The largest first. */
export function ranked(sums: Sum[], figure: Figure): Sum[] {
  return [...sums].sort((one, other) => figureOf(other, figure) - figureOf(one, figure));
}

/** What a sum is of, as its reader knows it; null where nobody is named: a session of the console, or one deleted. */
export function nameOf(sum: Sum, by: Dimension): string | null {
  if (by === "model") return sum.model ?? null;
  if (by === "user") return sum.user ?? (sum.user_id == null ? null : `#${sum.user_id}`);
  return sum.key ?? (sum.key_id == null ? null : `#${sum.key_id}`);
}

export function total(sums: Sum[], figure: Figure): number {
  return sums.reduce((whole, each) => whole + figureOf(each, figure), 0);
}

/** The largest five as lines of their own, the rest together; a time in which nothing was asked is zero. */
export function curveOf(
  rows: Sum[],
  span: Span,
  figure: Figure,
  name: (sum: Sum) => string,
  rest: string,
): Curve {
  const times = timesOf(span);
  const places = new Map(times.map((time, at) => [time, at]));
  const lines = new Map<string, number[]>();
  for (const row of rows) {
    const at = places.get(pointOf(row, span));
    if (at === undefined) continue;
    const values = lines.get(name(row)) ?? times.map(() => 0);
    values[at] = (values[at] ?? 0) + figureOf(row, figure);
    lines.set(name(row), values);
  }
  const ordered = [...lines.entries()]
    .map(([each, values]) => ({ name: each, values }))
    .filter(({ values }) => sum(values) > 0)
    .sort((one, other) => sum(other.values) - sum(one.values));
  const shown = ordered.slice(0, LINES);
  const others = ordered.slice(LINES);
  if (others.length === 0) return { times, series: shown };
  const together = times.map((_, at) => sum(others.map(({ values }) => values[at] ?? 0)));
  return { times, series: [...shown, { name: rest, values: together }] };
}

/** RFC 4180, with what a spreadsheet would take for a formula made text. */
export function csvOf(head: string[], rows: (string | number)[][]): string {
  return [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n");
}

function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const SECONDS = { hour: 3600, day: 86_400 };

function timesOf({ from, to, step, width }: Span): number[] {
  const pace = SECONDS[step] * width;
  const first = from.getTime() / 1000;
  return Array.from(
    { length: Math.ceil((to.getTime() / 1000 - first) / pace) },
    (_, at) => first + at * pace,
  );
}

function pointOf({ day, hour }: Sum, { from, step, width }: Span): number {
  const moment = Date.parse(step === "hour" ? (hour ?? "") : `${day}T00:00Z`) / 1000;
  const first = from.getTime() / 1000;
  const pace = SECONDS[step] * width;
  return first + Math.floor((moment - first) / pace) * pace;
}

function sum(values: number[]): number {
  return values.reduce((whole, each) => whole + each, 0);
}
