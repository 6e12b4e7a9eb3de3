import { expect, test } from "vitest";
import { isNarrowed, queryOf, requestsSearch } from "./search";

test("what an address says is kept, what it cannot mean is left out", () => {
  expect(
    requestsSearch({
      model: "org/m",
      key: 3,
      user: "x",
      status: "5xx",
      request: 42,
      from: "2026-12-01T07:20",
    }),
  ).toEqual({ model: "org/m", key: 3, status: "5xx", request: "42", from: "2026-12-01T07:20" });
  expect(requestsSearch({ key: 0, status: "9xx", cause: "", from: "yesterday", planet: "x" })).toEqual({});
  expect(requestsSearch({ status: 404 })).toEqual({ status: "404" });
});

test("the server is asked with moments, and not about the row that is open", () => {
  const query = queryOf({ status: "4xx", cause: "queue_full", open: "r1", from: "2026-12-01T07:20" });
  expect(query.get("from")).toBe(new Date("2026-12-01T07:20").toISOString());
  expect([...query.keys()].sort()).toEqual(["cause", "from", "status"]);
});

test("an open row narrows nothing", () => {
  expect(isNarrowed({ open: "r1" })).toBe(false);
  expect(isNarrowed({ open: "r1", status: "5xx" })).toBe(true);
});
