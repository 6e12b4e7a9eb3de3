// What the address of the playground says: the mode, the models and the parameters. Prompts stay out of it, because
// addresses are written into logs.

export const MODES = ["chat", "compare", "embeddings", "rerank", "image", "audio"] as const;
export type Mode = (typeof MODES)[number];
export const TASKS = ["transcribe", "speak"] as const;
export type Task = (typeof TASKS)[number];
export const TONGUES = ["curl", "python", "javascript"] as const;
export type Tongue = (typeof TONGUES)[number];

export const FEWEST_PANES = 2;
export const MOST_PANES = 6;
const MOST_STOPS = 4;

export interface Sampling {
  temperature?: number;
  top_p?: number;
  max_tokens?: number;
  seed?: number;
  stop?: string[];
}

export interface PlaygroundSearch extends Sampling {
  mode?: Mode;
  task?: Task;
  model?: string;
  panes?: string[];
  /** The language in which the code is shown; it is hidden where this is left out. */
  code?: Tongue;
}

export function playgroundSearch(given: Record<string, unknown>): PlaygroundSearch {
  return withoutHoles({
    mode: oneOf(MODES, given.mode),
    task: oneOf(TASKS, given.task),
    model: text(given.model),
    panes: panes(given.panes),
    code: oneOf(TONGUES, given.code),
    temperature: number(given.temperature, 0, 5),
    top_p: number(given.top_p, 0, 1),
    max_tokens: whole(given.max_tokens, 1),
    seed: whole(given.seed, 0),
    stop: texts(given.stop, MOST_STOPS),
  });
}

export function samplingOf(search: PlaygroundSearch): Sampling {
  const { temperature, top_p, max_tokens, seed, stop } = search;
  return withoutHoles({ temperature, top_p, max_tokens, seed, stop });
}

/** The models of the panes: those of the address, else twice the first that there is. */
export function panesOf(search: PlaygroundSearch, names: string[]): string[] {
  const chosen = search.panes ?? [search.model ?? names[0] ?? ""];
  const last = chosen.at(-1) ?? "";
  return [...chosen, ...Array(Math.max(0, FEWEST_PANES - chosen.length)).fill(last)].slice(0, MOST_PANES);
}

export function withoutHoles<T extends object>(given: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
}

function oneOf<T extends string>(known: readonly T[], given: unknown): T | undefined {
  return known.find((each) => each === given);
}

function text(given: unknown): string | undefined {
  return typeof given === "string" && given !== "" ? given : undefined;
}

function texts(given: unknown, most: number): string[] | undefined {
  if (!Array.isArray(given)) return undefined;
  const found = given
    .filter((each): each is string => typeof each === "string" && each !== "")
    .slice(0, most);
  return found.length === 0 ? undefined : found;
}

function panes(given: unknown): string[] | undefined {
  return texts(given, MOST_PANES);
}

function number(given: unknown, least: number, most: number): number | undefined {
  const isGood = typeof given === "number" && given >= least && given <= most;
  return isGood ? given : undefined;
}

function whole(given: unknown, least: number): number | undefined {
  return Number.isSafeInteger(given) && (given as number) >= least ? (given as number) : undefined;
}
