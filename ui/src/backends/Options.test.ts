import { expect, test } from "vitest";
import { matching } from "./Options";

const OPTIONS = [
  { name: "max-model-len", kind: "int", help: "longest prompt and answer", choices: [] },
  { name: "threads", kind: "int", help: "CPU threads while generating", choices: [] },
];

test.each([
  ["", 2],
  ["len", 1],
  ["CPU threads", 1],
  ["prompt threads", 0],
])("%j finds %i", (q, count) => {
  expect(matching(OPTIONS, q)).toHaveLength(count);
});
