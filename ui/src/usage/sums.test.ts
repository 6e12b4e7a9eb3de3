import { expect, test } from "vitest";
import { spanOf, usageSearch } from "./search";
import { csvOf, curveOf, nameOf, ranked, type Sum } from "./sums";

const NOTHING: Sum = {
  requests: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  images: 0,
  audio_seconds: 0,
  device_seconds: null,
};
const NOW = Date.parse("2026-12-01T07:20Z");
const row = (more: Partial<Sum>): Sum => ({ ...NOTHING, ...more });
const model = (sum: Sum) => sum.model ?? "";

test("an address that means nothing is left out", () => {
  expect(usageSearch({ by: "planet", range: "7d", from: "2026-02-01", to: "2026-01-01" })).toEqual({
    range: "7d",
  });
  expect(usageSearch({ from: "2026-01-01", to: "2026-13-01" })).toEqual({});
  expect(usageSearch({ by: "key", show: "tokens", from: "2026-01-01", to: "2026-01-02" })).toEqual({
    by: "key",
    show: "tokens",
    from: "2026-01-01",
    to: "2026-01-02",
  });
});

test.each([
  [{ range: "24h" }, "2026-11-30T08:00:00.000Z", "2026-12-01T08:00:00.000Z", "hour", 1],
  [{}, "2026-11-24T08:00:00.000Z", "2026-12-01T08:00:00.000Z", "hour", 1],
  [{ range: "30d" }, "2026-11-02T00:00:00.000Z", "2026-12-02T00:00:00.000Z", "day", 1],
  [
    { from: "2026-11-01", to: "2026-11-02" },
    "2026-11-01T00:00:00.000Z",
    "2026-11-03T00:00:00.000Z",
    "hour",
    1,
  ],
  [
    { from: "2023-01-01", to: "2026-12-31" },
    "2023-01-01T00:00:00.000Z",
    "2027-01-01T00:00:00.000Z",
    "day",
    3,
  ],
] as const)("%o is a span with steps that a curve can show", (search, from, to, step, width) => {
  const span = spanOf(search, NOW);
  expect([span.from.toISOString(), span.to.toISOString(), span.step, span.width]).toEqual([
    from,
    to,
    step,
    width,
  ]);
  expect(curveOf([], span, "requests", model, "").times.length).toBeLessThanOrEqual(600);
});

test("hours in which nothing was asked are zero, each row is in its hour", () => {
  const span = spanOf({ range: "24h" }, NOW);
  const rows = [
    row({ model: "a", hour: "2026-11-30T08:00Z", requests: 2 }),
    row({ model: "a", hour: "2026-12-01T07:00Z", requests: 3 }),
    row({ model: "b", hour: "2026-12-01T06:00Z", requests: 9 }),
    row({ model: "b", hour: "2026-11-29T06:00Z", requests: 100 }),
  ];
  const { times, series } = curveOf(rows, span, "requests", model, "others");
  expect(times).toHaveLength(24);
  expect(series.map(({ name, values }) => [name, values[0], values[22], values[23]])).toEqual([
    ["b", 0, 9, 0],
    ["a", 2, 0, 3],
  ]);
});

test("days are put together where there would be too many points", () => {
  const span = spanOf({ from: "2023-01-01", to: "2026-12-31" }, NOW);
  const rows = ["2023-01-01", "2023-01-03", "2023-01-04"].map((day) => row({ model: "a", day, requests: 1 }));
  expect(curveOf(rows, span, "requests", model, "").series[0]?.values.slice(0, 3)).toEqual([2, 1, 0]);
});

test("the largest five have a line each, the others one together", () => {
  const span = spanOf({ range: "24h" }, NOW);
  const rows = [1, 2, 3, 4, 5, 6, 7].map((count) =>
    row({ model: `m${count}`, hour: "2026-12-01T07:00Z", prompt_tokens: count, completion_tokens: count }),
  );
  const { series } = curveOf(rows, span, "tokens", model, "others");
  expect(series.map(({ name, values }) => [name, values[23]])).toEqual([
    ["m7", 14],
    ["m6", 12],
    ["m5", 10],
    ["m4", 8],
    ["m3", 6],
    ["others", 6],
  ]);
});

test("the largest is first, whatever is looked at", () => {
  const rows = [row({ model: "a", requests: 1, images: 9 }), row({ model: "b", requests: 2 })];
  expect(ranked(rows, "requests").map(model)).toEqual(["b", "a"]);
  expect(ranked(rows, "images").map(model)).toEqual(["a", "b"]);
});

test("a key that is gone still has its number, a session of the console none", () => {
  expect(nameOf(row({ key_id: 7, key: null }), "key")).toBe("#7");
  expect(nameOf(row({ key_id: null }), "key")).toBeNull();
  expect(nameOf(row({ user_id: 1, user: "admin" }), "user")).toBe("admin");
});

test("a file for spreadsheets has no formula in it", () => {
  expect(
    csvOf(
      ["model", "requests"],
      [
        ["a,b", 1],
        ['say "x"', 2],
        ["=HYPERLINK(1)", 3],
      ],
    ),
  ).toBe('model,requests\r\n"a,b",1\r\n"say ""x""",2\r\n\'=HYPERLINK(1),3');
});
