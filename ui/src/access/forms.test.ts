import { expect, test } from "vitest";
import { FRESH_KEY, keyBody, tabOf, words } from "./forms";

test("a key as it stands in the empty form uses every model and nothing else", () => {
  expect(keyBody({ ...FRESH_KEY, name: " app " })).toEqual({
    name: "app",
    scopes: ["inference"],
    models: ["*"],
  });
});

test("limits and an end are sent only where they were given", () => {
  const body = keyBody({
    ...FRESH_KEY,
    name: "a",
    models: "qwen*, smol",
    rpm: "60",
    expires: "2030-01-02T03:04",
  });
  expect(body).toMatchObject({ models: ["qwen*", "smol"], limits: { requests_per_minute: 60 } });
  expect(new Date(body.expires_at as string).getFullYear()).toBe(2030);
});

test.each([
  ["users", "users"],
  ["nothing", "keys"],
  [undefined, "keys"],
] as const)("%s leads to %s", (given, tab) => {
  expect(tabOf(given)).toBe(tab);
});

test("words stand between spaces or commas", () => {
  expect(words(" a, b\nc ")).toEqual(["a", "b", "c"]);
});
