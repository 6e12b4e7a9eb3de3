import { expect, test } from "vitest";
import { curvesOf, figuresOf, quantile, type Row, tpotOf } from "./metrics";

const NOW = Date.parse("2026-12-01T12:00:00Z") / 1000;

function row(secondsAgo: number, given: Partial<Row> = {}): Row {
  return {
    started_at: new Date((NOW - secondsAgo) * 1000).toISOString(),
    seconds: 2,
    ttft_seconds: 0.5,
    status: 200,
    completion_tokens: 16,
    queued_seconds: 0,
    ...given,
  };
}

test("a request counts where it ended, and is in flight while it ran", () => {
  const curves = curvesOf([row(60, { seconds: 30 }), row(60, { seconds: 60, status: 502 })], "15m", NOW);
  expect(curves.times).toHaveLength(60);
  const at = (seconds: number) => curves.times.indexOf(NOW - seconds);
  expect(curves.requests[at(30)]).toBe(1);
  expect(curves.errors[at(0)]).toBe(1);
  expect(curves.inFlight.slice(at(60), at(60) + 4)).toEqual([2, 2, 1, 1]);
  expect(curves.tokens[at(30)]).toBeCloseTo(16 / 15);
});

test("a time per token needs a first token and another one", () => {
  expect(tpotOf(row(0))).toBeCloseTo(0.1);
  expect(tpotOf(row(0, { completion_tokens: 1 }))).toBeNull();
  expect(tpotOf(row(0, { ttft_seconds: null }))).toBeNull();
});

test("figures are of what is known", () => {
  const told = figuresOf([row(0), row(0, { ttft_seconds: null, status: 429, completion_tokens: null })], 10);
  expect(told).toMatchObject({ requests: 2, errors: 1, ttft: 0.5, tokensPerSecond: 1.6 });
  expect(figuresOf([], 10).ttft).toBeNull();
});

test("a quantile is one of the values", () => {
  expect(quantile([4, 1, 3, 2], 0.5)).toBe(2);
  expect(quantile([4, 1, 3, 2], 0.95)).toBe(4);
  expect(quantile([], 0.5)).toBeNull();
});
