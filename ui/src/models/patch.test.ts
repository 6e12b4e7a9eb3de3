import { expect, test } from "vitest";
import { patchOf, restarts } from "./patch";

const BEFORE = { name: "m", replicas: 1, options: { a: 1, b: 2 }, include: ["x"], backend: "vllm" };

test("a patch holds what differs, and null for what was taken out", () => {
  const after = { name: "m", replicas: 2, options: { a: 1, c: 3 }, include: [] };
  expect(patchOf(BEFORE, after)).toEqual({
    replicas: 2,
    options: { b: null, c: 3 },
    include: [],
    backend: null,
  });
  expect(patchOf(BEFORE, BEFORE)).toEqual({});
});

test("engines start anew for what they run, not for how many they are", () => {
  expect(restarts(BEFORE, { ...BEFORE, replicas: 5 })).toEqual([]);
  expect(restarts(BEFORE, { ...BEFORE, options: { a: 2 } })).toEqual(["options"]);
});
