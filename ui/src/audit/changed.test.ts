import { expect, test } from "vitest";
import { changed } from "./changed";

test("only what differs is shown, also what came or went", () => {
  expect(changed({ a: 1, b: { x: 1 }, c: 2 }, { a: 1, b: { x: 2 }, d: 3 })).toEqual({
    before: { b: { x: 1 }, c: 2, d: null },
    after: { b: { x: 2 }, c: null, d: 3 },
  });
});

test("what was made or deleted is shown whole", () => {
  expect(changed(null, { a: 1 })).toEqual({ before: null, after: { a: 1 } });
  expect(changed({ a: 1 }, null)).toEqual({ before: { a: 1 }, after: null });
});
