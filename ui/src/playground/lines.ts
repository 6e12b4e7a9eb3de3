export const MOST_LINES = 100;

/** The texts that were typed one to a line; empty ones and those beyond the bound are left out. */
export function linesOf(typed: string): string[] {
  return typed
    .split("\n")
    .map((each) => each.trim())
    .filter(Boolean)
    .slice(0, MOST_LINES);
}
