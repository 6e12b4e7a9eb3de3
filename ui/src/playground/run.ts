// One answer and when it came: the figures of a pane. Pure; times are milliseconds of the browser's monotonic clock.

import { type Answer, type Failure, heard, NOTHING_SAID } from "./answer";

export interface Run {
  answer: Answer;
  sent: number;
  first: number | null;
  last: number | null;
  ended: number | null;
}

/** Seconds; null where it cannot be known. `isCounted`: frames were counted, because the engine told no usage. */
export interface Figures {
  ttft: number | null;
  tpot: number | null;
  /** Tokens of the answer over the whole time from sending to its end. */
  rate: number | null;
  tokens: number;
  isCounted: boolean;
  prompt: number | null;
}

export interface Total {
  ttft: [least: number, most: number] | null;
  tpot: number | null;
  rate: number | null;
  tokens: number;
  isCounted: boolean;
  seconds: number | null;
}

export function begun(now: number): Run {
  return { answer: NOTHING_SAID, sent: now, first: null, last: null, ended: null };
}

export function told(run: Run, data: string, now: number): Run {
  const answer = heard(run.answer, data);
  if (answer.frames === run.answer.frames) return { ...run, answer };
  return { ...run, answer, first: run.first ?? now, last: now };
}

export function failed(run: Run, failure: Failure, now: number): Run {
  return { ...run, answer: { ...run.answer, failure }, ended: now };
}

export function over(run: Run, now: number): Run {
  return run.ended === null ? { ...run, ended: now } : run;
}

export function figuresOf(run: Run): Figures {
  const { answer, sent, first, last, ended } = run;
  const tokens = answer.usage?.completion ?? answer.frames;
  return {
    ttft: first === null ? null : (first - sent) / 1000,
    tpot: first === null || last === null || tokens < 2 ? null : (last - first) / 1000 / (tokens - 1),
    rate: ended === null || ended <= sent || tokens === 0 ? null : tokens / ((ended - sent) / 1000),
    tokens,
    isCounted: answer.usage === null && tokens > 0,
    prompt: answer.usage?.prompt ?? null,
  };
}

/** All panes together: tokens over the time from the sending to the last end. */
export function totalOf(runs: Run[]): Total {
  const figures = runs.map(figuresOf);
  const ttfts = known(figures.map(({ ttft }) => ttft));
  const tpots = known(figures.map(({ tpot }) => tpot));
  const tokens = figures.reduce((sum, each) => sum + each.tokens, 0);
  const seconds = spanOf(runs);
  return {
    ttft: ttfts.length === 0 ? null : [Math.min(...ttfts), Math.max(...ttfts)],
    tpot: tpots.length === 0 ? null : tpots.reduce((sum, each) => sum + each, 0) / tpots.length,
    rate: seconds === null || seconds <= 0 || tokens === 0 ? null : tokens / seconds,
    tokens,
    isCounted: figures.some(({ isCounted }) => isCounted),
    seconds,
  };
}

function spanOf(runs: Run[]): number | null {
  const ends = known(runs.map(({ ended }) => ended));
  if (ends.length === 0 || ends.length < runs.length) return null;
  return (Math.max(...ends) - Math.min(...runs.map(({ sent }) => sent))) / 1000;
}

function known(values: (number | null)[]): number[] {
  return values.filter((each) => each !== null);
}
