import { expect, test, vi } from "vitest";

vi.mock("uplot", () => ({ default: {} })); // it asks the window, which is not there, how many pixels a point has
const { momentsOf, short } = await import("./Chart");

test("hours say their day where it begins, days say themselves", () => {
  const midnight = Date.parse("2026-12-01T00:00Z") / 1000;
  expect(momentsOf([midnight - 7200, midnight - 3600, midnight], 3600)).toEqual([
    "22:00\n11-30",
    "23:00",
    "00:00\n12-01",
  ]);
  expect(momentsOf([midnight], 86_400)).toEqual(["12-01"]);
});

test.each([
  [0, "0"],
  [0.5, "0.5"],
  [999, "999"],
  [1250, "1.3k"],
  [2_000_000, "2M"],
  [3.21e9, "3.2G"],
])("%d is written %s", (value, text) => {
  expect(short(value)).toBe(text);
});
