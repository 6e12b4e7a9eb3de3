import { expect, test } from "vitest";
import { outcomeOf, paceOf, type RequestRow, stretchesOf } from "./times";

const row = (more: Partial<RequestRow>) =>
  ({ seconds: 4, ttft_seconds: 1.5, queued_seconds: 0.5, completion_tokens: 11, ...more }) as RequestRow;

test("the time to the first token contains the time in line", () => {
  expect(stretchesOf(row({}))).toEqual([
    { part: "queue", seconds: 0.5 },
    { part: "first", seconds: 1 },
    { part: "rest", seconds: 2.5 },
  ]);
});

test.each([
  [{ ttft_seconds: null, queued_seconds: null }, [["rest", 4]]],
  [{ ttft_seconds: null, queued_seconds: 4 }, [["queue", 4]]],
  [
    { ttft_seconds: 0.2, queued_seconds: 0.5 },
    [
      ["queue", 0.5],
      ["rest", 3.5],
    ],
  ],
  [{ ttft_seconds: 9, queued_seconds: 9 }, [["queue", 4]]],
])("%o never adds up to more than the whole", (more, parts) => {
  expect(stretchesOf(row(more)).map(({ part, seconds }) => [part, seconds])).toEqual(parts);
});

test("pace is that of the tokens after the first", () => {
  expect(paceOf(row({}))).toBe(4);
  expect(paceOf(row({ completion_tokens: 1 }))).toBeNull();
  expect(paceOf(row({ ttft_seconds: null }))).toBeNull();
});

test.each([
  [200, null, "answered"],
  [200, "idle_timeout", "broken"],
  [429, "queue_full", "refused"],
  [499, "client_gone", "left"],
  [502, "connect_failed", "broken"],
])("%d because of %s is %s", (status, cause, outcome) => {
  expect(outcomeOf({ status, cause })).toBe(outcome);
});
