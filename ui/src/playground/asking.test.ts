import { expect, test } from "vitest";
import { paneReader, type Told } from "./asking";

function heardOf(...events: [string, object][]): Told[] {
  const told: Told[] = [];
  const read = paneReader((each) => told.push(each));
  for (const [event, said] of events) read(event, said);
  return told;
}

test("events of an answer are told whole, however they were cut", () => {
  expect(
    heardOf(
      ["begin", { status: 200 }],
      ["part", { text: 'data: {"a"' }],
      ["part", { text: ":1}\n\nda" }],
      ["part", { text: "ta: [DONE]\n\n" }],
      ["end", {}],
    ),
  ).toEqual([{ kind: "data", data: '{"a":1}' }, { kind: "data", data: "[DONE]" }, { kind: "ended" }]);
});

test("a pane that is refused says the sentence of its refusal", () => {
  const error = JSON.stringify({ error: { message: "There is no such model.", code: "model_not_found" } });
  expect(
    heardOf(
      ["begin", { status: 404 }],
      ["part", { text: error.slice(0, 9) }],
      ["part", { text: error.slice(9) }],
      ["end", {}],
    ),
  ).toEqual([{ kind: "failed", failure: { code: "model_not_found", sentence: "There is no such model." } }]);
});

test("one whose gateway went away is broken", () => {
  expect(heardOf(["broken", { message: "It ended." }])).toEqual([
    { kind: "failed", failure: { code: "compare_broken", sentence: "It ended." } },
  ]);
});
