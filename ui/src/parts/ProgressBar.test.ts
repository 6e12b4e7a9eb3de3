import { expect, test } from "vitest";
import { fractionOf } from "./ProgressBar";

test.each([
  [{ bytes_done: 1, bytes_total: 4, fraction: null }, 0.25],
  [{ bytes_done: 1, bytes_total: 4, fraction: 0.5 }, 0.5],
  [{ bytes_done: 9, bytes_total: 4, fraction: null }, 1],
  [{ bytes_done: 9, bytes_total: null, fraction: null }, null],
  [{ bytes_done: 0, bytes_total: 0, fraction: null }, null],
])("%o is %s done", (progress, fraction) => {
  expect(fractionOf({ phase: "load", ...progress })).toBe(fraction);
});
