import { expect, test } from "vitest";
import { NOTHING_SAID } from "./answer";
import { messagesOf, openCalls, remedyOf, requestOf, type Turn, toolsIn } from "./conversation";
import { begun } from "./run";

const call = { id: "c1", name: "weather", arguments: "{}" };
const asked = (text: string, ...pictures: string[]): Turn => ({ kind: "asked", text, pictures });
const answered = (said: Partial<typeof NOTHING_SAID>): Turn => ({
  kind: "answered",
  model: "m",
  run: { ...begun(0), answer: { ...NOTHING_SAID, ...said } },
});

test("a conversation is sent as it was, reasoning left out", () => {
  expect(
    messagesOf("Be brief.", [asked("Hi"), answered({ text: "Hello", reasoning: "hm" }), asked("Bye")]),
  ).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello" },
    { role: "user", content: "Bye" },
  ]);
});

test("pictures travel beside the text, as data", () => {
  expect(messagesOf(" ", [asked("What?", "data:image/png;base64,AA")])).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "What?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
      ],
    },
  ]);
});

test("an answer that failed before its first word is not told again", () => {
  const failure = { code: "engine_broke", sentence: "It broke." };
  expect(messagesOf("", [asked("Hi"), answered({ failure }), asked("Hi")])).toHaveLength(2);
});

test("a call waits for its result, which answers it by its id", () => {
  const turns = [asked("Weather?"), answered({ calls: [call] })];
  expect(openCalls(turns)).toEqual([call]);
  const after: Turn[] = [...turns, { kind: "results", results: [{ call, text: "rain" }] }];
  expect(openCalls(after)).toEqual([]);
  expect(messagesOf("", after).slice(1)).toEqual([
    {
      role: "assistant",
      content: "",
      tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "c1", content: "rain" },
  ]);
});

test.each([
  ["", []],
  ['{"type":"function"}', [{ type: "function" }]],
  ["[{}]", [{}]],
  ["[1]", null],
  ["nonsense", null],
])("tools typed as %s are %o", (typed, tools) => {
  expect(toolsIn(typed)).toEqual(tools);
});

test("only what was set is asked for", () => {
  expect(requestOf([], { temperature: 0 }, [])).toEqual({
    messages: [],
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
  });
});

test.each([
  ["context_length_exceeded", "shorter"],
  ["toString", "again"],
])("against %s helps %s", (code, remedy) => {
  expect(remedyOf({ code, sentence: "" })).toBe(remedy);
});
