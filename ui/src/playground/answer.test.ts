import { expect, test } from "vitest";
import { type Answer, failureIn, heard, NOTHING_SAID } from "./answer";

const delta = (delta: object, finish: string | null = null) =>
  JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] });
const after = (...frames: string[]): Answer => frames.reduce(heard, NOTHING_SAID);

test("an answer grows by its frames and ends with usage", () => {
  const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 4, completion_tokens: 2 } });
  expect(
    after(
      delta({ role: "assistant", content: "" }),
      delta({ content: "你" }),
      delta({ content: "好" }, "stop"),
      usage,
      "[DONE]",
    ),
  ).toEqual({
    ...NOTHING_SAID,
    text: "你好",
    finish: "stop",
    frames: 2,
    usage: { prompt: 4, completion: 2, reasoning: null },
  });
});

test.each(["reasoning_content", "reasoning"])("what it thinks first is kept apart, spelled %s", (name) => {
  const said = after(delta({ [name]: "hm" }), delta({ content: "yes" }));
  expect([said.reasoning, said.text, said.frames]).toEqual(["hm", "yes", 2]);
});

test("calls of tools are put together from their pieces", () => {
  const piece = (index: number, said: object, id?: string) =>
    delta({ tool_calls: [{ index, ...(id ? { id } : {}), function: said }] });
  const said = after(
    piece(0, { name: "weather", arguments: "" }, "c1"),
    piece(0, { arguments: '{"city":' }),
    piece(0, { arguments: '"Berlin"}' }),
    piece(1, { name: "time", arguments: "{}" }, "c2"),
  );
  expect(said.calls).toEqual([
    { id: "c1", name: "weather", arguments: '{"city":"Berlin"}' },
    { id: "c2", name: "time", arguments: "{}" },
  ]);
});

test("an error in the middle keeps what was said before it", () => {
  const said = after(
    delta({ content: "half" }),
    '{"error":{"message":"The engine broke.","code":"engine_broke"}}',
  );
  expect([said.text, said.failure]).toEqual([
    "half",
    { code: "engine_broke", sentence: "The engine broke." },
  ]);
});

test("a frame that is no JSON is a failure, not a silence", () => {
  expect(after("<html>").failure?.code).toBe("not_understood");
  expect(failureIn("Bad gateway")).toEqual({ code: "not_understood", sentence: "Bad gateway" });
});
