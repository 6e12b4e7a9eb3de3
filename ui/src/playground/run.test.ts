import { expect, test } from "vitest";
import { begun, failed, figuresOf, over, type Run, told, totalOf } from "./run";

const word = (content: string) => JSON.stringify({ choices: [{ delta: { content } }] });
const usage = (completion_tokens: number) =>
  JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens } });

function ran(sent: number, words: number[], ended: number, tokens?: number): Run {
  const spoken = words.reduce((run, at) => told(run, word("x"), at), begun(sent));
  return over(tokens === undefined ? spoken : told(spoken, usage(tokens), ended), ended);
}

test("the first token is timed from the sending, the others from one another", () => {
  const figures = figuresOf(ran(1000, [1200, 1300, 1400], 1500, 3));
  expect(figures).toEqual({ ttft: 0.2, tpot: 0.1, rate: 6, tokens: 3, isCounted: false, prompt: 3 });
});

test("frames are counted, and that is said, where an engine tells no usage", () => {
  expect(figuresOf(ran(0, [500, 600], 1000))).toMatchObject({
    tokens: 2,
    rate: 2,
    isCounted: true,
    prompt: null,
  });
});

test("nothing is made up for an answer that never began", () => {
  const run = failed(begun(0), { code: "model_not_ready", sentence: "It sleeps." }, 40);
  expect(figuresOf(run)).toMatchObject({ ttft: null, tpot: null, rate: null, tokens: 0 });
});

test("several frames for one token, and one frame for several tokens, give the engine's count", () => {
  expect(figuresOf(ran(0, [100, 200], 300, 11)).tpot).toBeCloseTo(0.01);
});

test("together: all tokens over the time until the last has ended", () => {
  const total = totalOf([ran(0, [100, 200], 1000, 10), ran(0, [300, 400], 2000, 20)]);
  expect(total).toMatchObject({ ttft: [0.1, 0.3], tokens: 30, rate: 15, seconds: 2, isCounted: false });
});

test("there is no total rate while one of them still answers", () => {
  const running = told(begun(0), word("x"), 100);
  expect(totalOf([ran(0, [100], 1000, 1), running]).rate).toBeNull();
});
