// What the addresses of the deployments' pages say; anything else in them is left out.

export const SORTS = ["name", "state", "ready", "claimed", "traffic"] as const;
export type Sort = (typeof SORTS)[number];

export const GROUPS = ["running", "waiting", "broken", "off"] as const;
/** States as one looks for them. */
export type Group = (typeof GROUPS)[number];

export interface ModelsSearch {
  q?: string;
  state?: Group;
  backend?: string;
  worker?: string;
  sort?: Sort;
  desc?: true;
}

/** Undefined takes one out. */
export type ModelsChange = { [Name in keyof ModelsSearch]?: ModelsSearch[Name] | undefined };

export function modelsSearch(given: Record<string, unknown>): ModelsSearch {
  const search: ModelsSearch = {};
  for (const name of ["q", "backend", "worker"] as const) {
    const value = given[name];
    // a router reads ?q=7 as a number
    if ((typeof value === "string" && value !== "") || typeof value === "number")
      search[name] = String(value);
  }
  if (GROUPS.includes(given.state as Group)) search.state = given.state as Group;
  if (SORTS.includes(given.sort as Sort)) search.sort = given.sort as Sort;
  if (given.desc === true) search.desc = true;
  return search;
}

export const TABS = ["overview", "instances", "events", "logs", "metrics", "config", "use"] as const;
export type Tab = (typeof TABS)[number];
export const SPANS = ["15m", "1h", "6h", "24h"] as const;
export type MetricSpan = (typeof SPANS)[number];

export interface ModelSearch {
  tab?: Tab;
  /** Of the logs and of the events. */
  instance?: number;
  attempt?: number;
  span?: MetricSpan;
  /** Generations that are compared. */
  from?: number;
  to?: number;
}

export function modelSearch(given: Record<string, unknown>): ModelSearch {
  const search: ModelSearch = {};
  if (TABS.includes(given.tab as Tab) && given.tab !== "overview") search.tab = given.tab as Tab;
  for (const name of ["instance", "attempt", "from", "to"] as const) {
    const value = given[name];
    if (Number.isSafeInteger(value) && (value as number) > 0) search[name] = value as number;
  }
  if (SPANS.includes(given.span as MetricSpan)) search.span = given.span as MetricSpan;
  return search;
}
