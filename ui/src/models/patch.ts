// What a changed configuration changes; pure.

import type { Yaml } from "./yaml";

export type Spec = { [key: string]: Yaml };

/** The fields that differ, as a merge patch: what was taken out, here or in a map, goes back to its default. */
export function patchOf(before: Spec, after: Spec): Spec {
  const patch: Spec = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[key], after[key]];
    if (JSON.stringify(old) === JSON.stringify(now)) continue;
    if (now === undefined) patch[key] = null;
    else patch[key] = isMap(old) && isMap(now) ? patchOf(old, now) : now;
  }
  return patch;
}

function isMap(value: Yaml | undefined): value is Spec {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Of these an engine runs anew when they differ (docs/api.md). */
const LAUNCHING = [
  "source",
  "source_revision",
  "include",
  "backend",
  "backend_version",
  "options",
  "env",
  "placement",
  "trust_remote_code",
  "allow_pickle",
];

export function restarts(before: Spec, after: Spec): string[] {
  return LAUNCHING.filter(
    (name) => JSON.stringify(before[name] ?? null) !== JSON.stringify(after[name] ?? null),
  );
}
