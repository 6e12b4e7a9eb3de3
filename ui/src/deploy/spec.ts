// What is to be deployed, as the API takes it, and the same as a command line; pure.

export interface Placement {
  strategy?: "spread" | "binpack";
  devices?: string[];
  workers?: string[];
  chips?: string[];
}

export interface Spec {
  name: string;
  source: string;
  source_revision?: string | null;
  include?: string[];
  backend?: string | null;
  backend_version?: string | null;
  replicas: number;
  autoscale?: { min: number; max: number } | null;
  options: Record<string, unknown>;
  placement: Placement;
  trust_remote_code?: boolean;
  allow_pickle?: boolean;
  env?: Record<string, string>;
}

export const NOTHING: Spec = { name: "", source: "", replicas: 1, options: {}, placement: {} };

const HIDDEN = "***";

/** A draft with another's configuration; values that are never shown cannot be taken along. */
export function copied(spec: Spec): Spec {
  const env = Object.entries(spec.env ?? {}).filter(([, value]) => value !== HIDDEN);
  return { ...spec, name: `${spec.name}-copy`, env: Object.fromEntries(env) };
}

export const KINDS = ["local", "huggingface", "modelscope"] as const;
export type SourceKind = (typeof KINDS)[number];

export function kindOf(source: string): SourceKind {
  if (source.startsWith("huggingface:")) return "huggingface";
  return source.startsWith("modelscope:") ? "modelscope" : "local";
}

/** What stands behind the hub's name, or the path. */
export function placeOf(source: string): string {
  return source.replace(/^(huggingface|modelscope):/, "");
}

export function sourceOf(kind: SourceKind, place: string): string {
  const bare = placeOf(place.trim());
  return kind === "local" || bare === "" ? bare : `${kind}:${bare}`;
}

/** A name that one would give it: the last part of the source, without what says how it is packed. */
export function nameFor(source: string): string {
  const last = placeOf(source).split("/").filter(Boolean).at(-1) ?? "";
  return last
    .replace(/\.gguf$/i, "")
    .replace(/-gguf$/i, "")
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, 60);
}

/** RFC 7396: null takes away, objects are merged. Remedies come as such patches. */
export function patched<T>(target: T, patch: unknown): T {
  if (!isObject(patch)) return patch as T;
  const made: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete made[key];
    else made[key] = patched(made[key], value);
  }
  return made as T;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The body of a POST: what was left empty is not sent, so that the defaults stay the server's. */
export function bodyOf(spec: Spec): Record<string, unknown> {
  const { autoscale, replicas, placement, ...rest } = spec;
  const kept = Object.entries({ ...rest, placement: withoutEmpty(placement) }).filter(
    ([, value]) => !isEmpty(value),
  );
  return { ...Object.fromEntries(kept), ...(autoscale ? { autoscale } : { replicas }) };
}

function withoutEmpty(placement: Placement): Record<string, unknown> {
  return Object.fromEntries(Object.entries(placement).filter(([, value]) => !isEmpty(value)));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

export function commandOf(spec: Spec): string {
  const { placement } = spec;
  const parts: [string, unknown][] = [
    ["--source", spec.source],
    ["--revision", spec.source_revision],
    ...(spec.include ?? []).map((each): [string, unknown] => ["--include", each]),
    ["--backend", spec.backend],
    ["--backend-version", spec.backend_version],
    ["--replicas", spec.autoscale ? `${spec.autoscale.min}..${spec.autoscale.max}` : spec.replicas],
    ...Object.entries(spec.options).map(([key, value]): [string, unknown] => [
      "--option",
      `${key}=${told(value)}`,
    ]),
    ["--strategy", placement.strategy],
    ...(placement.devices ?? []).map((each): [string, unknown] => ["--device", each]),
    ...(placement.workers ?? []).map((each): [string, unknown] => ["--worker", each]),
    ...(placement.chips ?? []).map((each): [string, unknown] => ["--chip", each]),
  ];
  const flags = [spec.trust_remote_code && "--trust-remote-code", spec.allow_pickle && "--allow-pickle"];
  const shown = parts.filter(([name, value]) => !isEmpty(value) && !(name === "--replicas" && value === 1));
  return [
    `gpustack-lite models deploy ${quoted(spec.name || "NAME")}`,
    ...shown.map(([name, value]) => `${name} ${quoted(String(value))}`),
    ...flags.filter(Boolean),
  ].join(" \\\n  ");
}

function told(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** For a shell; what needs no quotes gets none. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
