// Keeps one change stream open: reads it, notices silence, and dials again with growing pauses.

import { type Message, messageReader } from "./sse";

export type Phase = "connecting" | "live" | "lost" | "refused";

/** `since` is the wall clock in ms at which this phase began. */
export interface Status {
  phase: Phase;
  since: number;
}

export interface Listener {
  onMessage(message: Message): void;
  onStatus(status: Status): void;
}

/** The server says something at least every 10 s; without a byte for this long the line is dead. */
const SILENCE_MS = 25_000;
const PAUSES_MS = [500, 1000, 2000, 4000, 8000];

/** Runs until `signal` ends it or the server does not know this session (401). */
export async function follow(url: string, language: string, listener: Listener, signal: AbortSignal) {
  let failures = 0;
  listener.onStatus({ phase: "connecting", since: Date.now() });
  while (!signal.aborted) {
    const outcome = await readOnce(url, language, listener, signal);
    if (signal.aborted) return;
    listener.onStatus({ phase: outcome === "refused" ? "refused" : "lost", since: Date.now() });
    if (outcome === "refused") return;
    failures = outcome === "read" ? 0 : failures + 1;
    await pause(PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)] ?? 0, signal);
  }
}

type Outcome = "read" | "unreachable" | "refused";

async function readOnce(
  url: string,
  language: string,
  listener: Listener,
  signal: AbortSignal,
): Promise<Outcome> {
  const line = new AbortController();
  const hangUp = () => line.abort();
  signal.addEventListener("abort", hangUp);
  let timer = setTimeout(hangUp, SILENCE_MS);
  let outcome: Outcome = "unreachable";
  try {
    const response = await fetch(url, {
      headers: { Accept: "text/event-stream", "Accept-Language": language },
      cache: "no-store",
      signal: line.signal,
    });
    if (response.status === 401) return "refused";
    if (!response.ok || response.body === null) return "unreachable";
    outcome = "read";
    listener.onStatus({ phase: "live", since: Date.now() });
    const next = messageReader();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(timer);
      timer = setTimeout(hangUp, SILENCE_MS);
      next(part.value).forEach(listener.onMessage);
    }
  } catch {
    // a broken line is the normal end of a stream: the caller says so and dials again
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", hangUp);
  }
  return outcome;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
