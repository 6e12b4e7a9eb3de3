// The output of one attempt: its last lines first, then each new one while somebody looks.

import { useEffect, useState } from "react";
import { type Api, ApiError } from "../api/client";
import { usePlatform } from "../platform";

export const TAIL_LINES = 1000;
const KEPT_LINES = 5000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal colours begin with an escape character
const TERMINAL_CODES = /\u001b\[[0-9;?]*[A-Za-z]|\r(?=\n)/g;

export interface Log {
  text: string;
  isOver: boolean;
  error: string | null;
}

const NOTHING: Log = { text: "", isOver: false, error: null };

export function useLog(instance: string, attempt: number | null, follow: boolean): Log {
  const { api } = usePlatform();
  const [log, setLog] = useState(NOTHING);
  useEffect(() => {
    const gone = new AbortController();
    const path = logPath(instance, attempt, follow);
    setLog(NOTHING);
    readInto(api, path, gone.signal, setLog).catch((failure: unknown) => {
      if (gone.signal.aborted) return;
      if (!(failure instanceof ApiError) && !(failure instanceof TypeError)) throw failure;
      setLog((held) => ({ ...held, isOver: true, error: failure.message }));
    });
    return () => gone.abort();
  }, [api, instance, attempt, follow]);
  return log;
}

function logPath(instance: string, attempt: number | null, follow: boolean): string {
  const query = new URLSearchParams({ tail: String(TAIL_LINES), follow: String(follow) });
  if (attempt !== null) query.set("attempt", String(attempt));
  return `/api/v1/instances/${encodeURIComponent(instance)}/logs?${query}`;
}

async function readInto(
  api: Api,
  path: string,
  signal: AbortSignal,
  set: (next: (held: Log) => Log) => void,
) {
  const response = await api.open(path, { signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    const { value } = part;
    set((held) => ({ ...held, text: lastLines(held.text + value.replace(TERMINAL_CODES, "")) }));
  }
  set((held) => ({ ...held, isOver: true }));
}

export function lastLines(text: string, most = KEPT_LINES): string {
  const lines = text.split("\n");
  return lines.length <= most + 1 ? text : lines.slice(-most - 1).join("\n");
}
