// The output of one attempt: its last lines first, then each new one while somebody looks.

import { useEffect, useRef, useState } from "react";
import { type Api, ApiError } from "../api/client";
import { usePlatform } from "../platform";

export const TAIL_LINES = 1000;
export const MOST_LINES = 100_000;
const AGAIN_MS = 2000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal colours begin with an escape character
const TERMINAL_CODES = /\u001b\[[0-9;?]*[A-Za-z]|\r(?=\n)/g;

export interface Line {
  text: string;
  /** When it arrived here, in ms since 1970; null for what had been written before. */
  at: number | null;
  /** The attempt that begins here: a line of ours between the engine's. */
  attempt?: number;
}

export interface Log {
  lines: readonly Line[];
  isOver: boolean;
  error: string | null;
}

const NOTHING: Log = { lines: [], isOver: false, error: null };

/**
 * Goes on with the next attempt when an engine starts again, below what the one before said. `tail`: how many lines
 * of what was there are wanted.
 */
export function useLog(instance: number, attempt: number, isPinned: boolean, tail = TAIL_LINES): Log {
  const { api } = usePlatform();
  const [log, setLog] = useState(NOTHING);
  const [tries, setTries] = useState(0);
  const held = useRef({ key: "", attempt: 0 });
  useEffect(() => {
    const gone = new AbortController();
    const key = `${instance} ${isPinned} ${tail} ${tries}`;
    const goesOn = held.current.key === key && !isPinned && attempt > held.current.attempt;
    held.current = { key, attempt };
    setLog((before) =>
      goesOn ? { ...NOTHING, lines: [...before.lines, { text: "", at: null, attempt }] } : NOTHING,
    );
    let again: ReturnType<typeof setTimeout> | undefined;
    readInto(api, pathOf(instance, attempt, tail), gone.signal, setLog).catch((failure: unknown) => {
      if (gone.signal.aborted) return;
      if (!(failure instanceof ApiError) && !(failure instanceof TypeError)) throw failure;
      setLog((before) => ({ ...before, isOver: true, error: failure.message }));
      const isLineLost = !(failure instanceof ApiError) || failure.status === 0;
      if (isLineLost) again = setTimeout(() => setTries((count) => count + 1), AGAIN_MS);
    });
    return () => {
      gone.abort();
      clearTimeout(again);
    };
  }, [api, instance, attempt, isPinned, tail, tries]);
  return log;
}

export function pathOf(instance: number, attempt: number, tail: number, follow = true): string {
  const query = new URLSearchParams({ tail: String(tail), follow: String(follow), attempt: String(attempt) });
  return `/api/v1/instances/${instance}/logs?${query}`;
}

type Set = (next: (held: Log) => Log) => void;

async function readInto(api: Api, path: string, signal: AbortSignal, set: Set) {
  const response = await api.open(path, { signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let isFirst = true;
  let isOpen = false;
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    const at = isFirst ? null : Date.now();
    const goesOn = isOpen;
    const value = part.value.replace(TERMINAL_CODES, "");
    set((log) => ({ ...log, lines: withText(log.lines, value, goesOn, at) }));
    isOpen = value !== "" && !value.endsWith("\n");
    isFirst = false;
  }
  set((log) => ({ ...log, isOver: true }));
}

/** With what arrived; `goesOn`: the last line had not ended. The oldest go beyond `most`. */
export function withText(
  lines: readonly Line[],
  text: string,
  goesOn: boolean,
  at: number | null,
  most = MOST_LINES,
): readonly Line[] {
  if (text === "") return lines;
  const parts = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
  const last = goesOn ? lines.at(-1) : undefined;
  const kept = last === undefined ? lines.slice() : lines.slice(0, -1);
  const [first = "", ...rest] = parts;
  kept.push(last === undefined ? { text: first, at } : { ...last, text: last.text + first });
  for (const each of rest) kept.push({ text: each, at });
  return kept.length > most ? kept.slice(-most) : kept;
}

/** The lines that hold the text, whatever its case. */
export function found(lines: readonly Line[], sought: string): readonly Line[] {
  const wanted = sought.toLowerCase();
  return wanted === "" ? lines : lines.filter(({ text }) => text.toLowerCase().includes(wanted));
}
