// What the page tells of one download; pure.

import type { ModelFiles, Progress } from "../api/types";
import type { Shape, Tone } from "../parts/StateMark";

export type FilesState = "waiting" | "downloading" | "paused" | "ready" | "failed" | "deleting" | "gone";

export const LOOKS: Record<FilesState, [Shape, Tone]> = {
  waiting: ["dashed", "wait"],
  downloading: ["turning", "busy"],
  paused: ["square", "off"],
  ready: ["check", "ok"],
  failed: ["cross", "bad"],
  deleting: ["turning", "off"],
  gone: ["slash", "off"],
};

export const canPause = (state: string): boolean => state === "waiting" || state === "downloading";
export const canResume = (state: string): boolean => state === "paused" || state === "failed";

/** Null where there is no more to say than the state. */
export function progressOf({ state, done_bytes: done, size_bytes: total }: ModelFiles): Progress | null {
  if (state === "ready" || (done === null && total === null)) return null;
  return { phase: "weights", bytes_done: done, bytes_total: total, fraction: null };
}

/** Those under way first, then what went wrong, then by name. */
export function inOrder(files: ModelFiles[]): ModelFiles[] {
  const rank = ({ state }: ModelFiles) =>
    ["downloading", "waiting", "failed", "paused", "deleting"].indexOf(state);
  const place = (each: ModelFiles) => (rank(each) < 0 ? 9 : rank(each));
  return [...files].sort((a, b) => place(a) - place(b) || a.source.localeCompare(b.source) || a.id - b.id);
}

export function patterns(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}
