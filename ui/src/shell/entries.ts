// What the palette leads to, and which of it is meant by a few letters; pure.

import type { Model, Worker } from "../api/types";
import { PLACES } from "./places";

export type EntryKind = "page" | "deployment" | "worker" | "action";

export interface PaletteEntry {
  id: string;
  kind: EntryKind;
  /** What is shown and searched. */
  text: string;
  to: string;
  params?: Record<string, string>;
}

const ACTIONS = [
  { to: "/deploy", words: "deploy.open" },
  { to: "/workers/add", words: "fleet.add" },
] as const;
const MOST = 12;
const ORDER: Record<EntryKind, number> = { page: 0, action: 1, deployment: 2, worker: 3 };

export function entries(
  models: Model[],
  workers: Worker[],
  isAdmin: boolean,
  t: (words: string) => string,
): PaletteEntry[] {
  const places = PLACES.filter((place) => isAdmin || !("isForAdmins" in place));
  return [
    ...places.map(({ to, words }) => ({ id: `page ${to}`, kind: "page" as const, text: t(words), to })),
    ...(isAdmin ? ACTIONS : []).map(({ to, words }) => ({
      id: `action ${to}`,
      kind: "action" as const,
      text: t(words),
      to,
    })),
    ...models.map(({ id, name }) => ({
      id: `deployment ${id}`,
      kind: "deployment" as const,
      text: name,
      to: "/models/$",
      params: { _splat: name },
    })),
    ...workers.map(({ id, name }) => ({
      id: `worker ${id}`,
      kind: "worker" as const,
      text: name,
      to: "/workers/$name",
      params: { name },
    })),
  ];
}

/** A beginning before a word's beginning, that before the middle, that before letters in their order. */
export function meant(all: PaletteEntry[], typed: string): PaletteEntry[] {
  const sought = typed.trim().toLowerCase();
  return all
    .map((entry) => ({ entry, rank: rankOf(entry.text.toLowerCase(), sought) }))
    .filter(({ rank }) => rank !== null)
    .sort(
      (a, b) =>
        (a.rank ?? 0) - (b.rank ?? 0) ||
        ORDER[a.entry.kind] - ORDER[b.entry.kind] ||
        (sought === "" ? 0 : a.entry.text.localeCompare(b.entry.text, "en", { numeric: true })),
    )
    .slice(0, MOST)
    .map(({ entry }) => entry);
}

function rankOf(text: string, sought: string): number | null {
  if (text.startsWith(sought)) return 0;
  const at = text.indexOf(sought);
  if (at > 0) return /[\s\-_/.:]/.test(text[at - 1] ?? "") ? 1 : 2;
  let from = 0;
  for (const letter of sought) {
    from = text.indexOf(letter, from) + 1;
    if (from === 0) return null;
  }
  return 3;
}
