import { expect, test } from "vitest";
import { panesOf, playgroundSearch, samplingOf } from "./search";

test("what an address says is kept, what it cannot mean is left out", () => {
  expect(
    playgroundSearch({
      mode: "compare",
      panes: ["a", "b"],
      temperature: 0,
      top_p: 2,
      seed: 1.5,
      stop: ["."],
    }),
  ).toEqual({ mode: "compare", panes: ["a", "b"], temperature: 0, stop: ["."] });
  expect(playgroundSearch({ mode: "sing", model: 7, max_tokens: 0, stop: "x", code: "cobol" })).toEqual({});
});

test("there are never more panes than six", () => {
  expect(playgroundSearch({ panes: ["a", "b", "c", "d", "e", "f", "g"] }).panes).toHaveLength(6);
});

test.each([
  [{}, ["x", "y"], ["x", "x"]],
  [{ model: "m" }, ["x"], ["m", "m"]],
  [{ panes: ["a"] }, ["x"], ["a", "a"]],
  [{ panes: ["a", "b", "c"] }, ["x"], ["a", "b", "c"]],
  [{}, [], ["", ""]],
])("of %o and the models %o the panes are %o", (search, names, panes) => {
  expect(panesOf(search, names)).toEqual(panes);
});

test("parameters that nobody set are not sent", () => {
  expect(samplingOf({ mode: "chat", model: "m", temperature: 0.2 })).toEqual({ temperature: 0.2 });
});
