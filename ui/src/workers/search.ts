// What the address of the workers' page says; anything else in it is left out.

import { QUANTITIES, type Quantity } from "./fleet";

export const VIEWS = ["cards", "grid", "table"] as const;
export type View = (typeof VIEWS)[number];

export interface WorkersSearch {
  q?: string;
  show?: Quantity;
  view?: View;
}

/** More cards than these are scrolled, not read. */
const MOST_CARDS = 8;

export function workersSearch(given: Record<string, unknown>): WorkersSearch {
  const search: WorkersSearch = {};
  if (typeof given.q === "string" && given.q !== "") search.q = given.q;
  if (QUANTITIES.includes(given.show as Quantity)) search.show = given.show as Quantity;
  if (VIEWS.includes(given.view as View)) search.view = given.view as View;
  return search;
}

export function viewOf(chosen: View | undefined, workers: number): View {
  return chosen ?? (workers > MOST_CARDS ? "grid" : "cards");
}
