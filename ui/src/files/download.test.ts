import { expect, test } from "vitest";
import type { ModelFiles } from "../api/types";
import { canPause, canResume, inOrder, patterns, progressOf } from "./download";

const files = (more: Partial<ModelFiles>) =>
  ({
    id: 1,
    source: "huggingface:a/b",
    state: "downloading",
    done_bytes: 1,
    size_bytes: 4,
    ...more,
  }) as ModelFiles;

test("what is under way comes first, then what went wrong, then the rest by name", () => {
  const rows = [
    files({ id: 1, state: "ready", source: "b" }),
    files({ id: 2, state: "ready", source: "a" }),
    files({ id: 3, state: "failed" }),
    files({ id: 4, state: "downloading" }),
  ];
  expect(inOrder(rows).map(({ id }) => id)).toEqual([4, 3, 2, 1]);
});

test("a bar is drawn as long as something is missing and anything is known", () => {
  expect(progressOf(files({}))).toMatchObject({ bytes_done: 1, bytes_total: 4 });
  expect(progressOf(files({ state: "ready" }))).toBeNull();
  expect(progressOf(files({ done_bytes: null, size_bytes: null }))).toBeNull();
});

test.each([
  ["downloading", true, false],
  ["waiting", true, false],
  ["paused", false, true],
  ["failed", false, true],
  ["ready", false, false],
  ["deleting", false, false],
])("%s", (state, pause, resume) => {
  expect([canPause(state), canResume(state)]).toEqual([pause, resume]);
});

test("patterns stand between spaces or commas", () => {
  expect(patterns(" *Q4*,  *.json\n")).toEqual(["*Q4*", "*.json"]);
});
