// Where the time of a request went. Pure; seconds.

import type { components } from "../api/schema.gen";

export type RequestRow = components["schemas"]["RequestShape"];
export const PARTS = ["queue", "first", "rest"] as const;

export interface Stretch {
  part: (typeof PARTS)[number];
  seconds: number;
}

/** Waiting in line, until the first token after that, and until the end; what nobody measured is part of the rest. */
export function stretchesOf({ seconds, ttft_seconds: ttft, queued_seconds: queued }: RequestRow): Stretch[] {
  const waited = Math.min(queued ?? 0, seconds);
  const first = ttft === null ? 0 : Math.max(0, Math.min(ttft, seconds) - waited);
  const stretches: Stretch[] = [
    { part: "queue", seconds: waited },
    { part: "first", seconds: first },
    { part: "rest", seconds: Math.max(0, seconds - waited - first) },
  ];
  return stretches.filter((each) => each.seconds > 0);
}

/** Tokens a second after the first one; null where that was not measured. */
export function paceOf({
  seconds,
  ttft_seconds: ttft,
  completion_tokens: tokens,
}: RequestRow): number | null {
  if (ttft === null || tokens === null || tokens < 2 || seconds <= ttft) return null;
  return (tokens - 1) / (seconds - ttft);
}

export type Outcome = "answered" | "refused" | "broken" | "left";

/** 499 is a client that left: nobody saw a status. */
export function outcomeOf({ status, cause }: Pick<RequestRow, "status" | "cause">): Outcome {
  if (status === 499) return "left";
  if (status >= 500) return "broken";
  if (status >= 400) return "refused";
  return cause === null ? "answered" : "broken";
}
