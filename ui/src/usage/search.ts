// What the address of the usage page says: by what it is summed, which figure, and of which time. Times are UTC's.

export const DIMENSIONS = ["model", "user", "key"] as const;
export type Dimension = (typeof DIMENSIONS)[number];
export const FIGURES = [
  "requests",
  "tokens",
  "prompt_tokens",
  "completion_tokens",
  "images",
  "audio_seconds",
] as const;
export type Figure = (typeof FIGURES)[number];
export const RANGES = ["24h", "7d", "30d", "90d"] as const;
export type Range = (typeof RANGES)[number];

export interface UsageSearch {
  by?: Dimension;
  show?: Figure;
  range?: Range;
  /** Whole days of UTC, both included; they win over `range`. */
  from?: string;
  to?: string;
}

export interface Span {
  from: Date;
  to: Date;
  step: "hour" | "day";
  /** So many steps make one point of the curve. */
  width: number;
}

const HOUR = 3600_000;
const DAY = 24 * HOUR;
const LENGTHS: Record<Range, number> = { "24h": DAY, "7d": 7 * DAY, "30d": 30 * DAY, "90d": 90 * DAY };
const LONGEST_BY_HOUR = 8 * DAY;
export const MOST_POINTS = 600;

export function usageSearch(given: Record<string, unknown>): UsageSearch {
  const search: UsageSearch = {};
  const by = DIMENSIONS.find((each) => each === given.by);
  const show = FIGURES.find((each) => each === given.show);
  const range = RANGES.find((each) => each === given.range);
  if (by) search.by = by;
  if (show) search.show = show;
  if (range) search.range = range;
  if (isDay(given.from) && isDay(given.to) && given.from <= given.to) {
    search.from = given.from;
    search.to = given.to;
  }
  return search;
}

/** Ends with the hour that is under way, so that the same question is asked for an hour. */
export function spanOf({ range = "7d", from, to }: UsageSearch, now: number): Span {
  if (from !== undefined && to !== undefined) {
    return stepped(Date.parse(from), Date.parse(to) + DAY);
  }
  const step = LENGTHS[range] > LONGEST_BY_HOUR ? DAY : HOUR;
  const end = Math.floor(now / step) * step + step;
  return stepped(end - LENGTHS[range], end);
}

function stepped(from: number, to: number): Span {
  const isShort = to - from <= LONGEST_BY_HOUR;
  const points = (to - from) / (isShort ? HOUR : DAY);
  return {
    from: new Date(from),
    to: new Date(to),
    step: isShort ? "hour" : "day",
    width: Math.ceil(points / MOST_POINTS),
  };
}

function isDay(given: unknown): given is string {
  return (
    typeof given === "string" &&
    /^20\d\d-\d\d-\d\d$/.test(given) &&
    !Number.isNaN(Date.parse(`${given}T00:00Z`))
  );
}
