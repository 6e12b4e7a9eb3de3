// A list from the API, kept up to date by the change stream. Pure: the whole truth about merging is here.

export interface Entry {
  id: number;
}

/** `revision` is the id of the last change that the items are known to contain. */
export interface Listing<T extends Entry> {
  revision: number;
  items: T[];
}

export interface Change {
  revision: number;
  kind: string;
  op: "put" | "delete";
  id: number;
  document: Entry | null;
}

/** A change that the list already contains is ignored, so that repeated and late ones cannot hurt. */
export function applyChange<T extends Entry>(list: Listing<T>, change: Change): Listing<T> {
  if (change.revision <= list.revision) return list;
  return { revision: change.revision, items: changedItems(list.items, change) };
}

function changedItems<T extends Entry>(items: T[], change: Change): T[] {
  if (change.op === "delete" || change.document === null) return items.filter(({ id }) => id !== change.id);
  const document = change.document as T;
  const isKnown = items.some(({ id }) => id === change.id);
  return isKnown ? items.map((item) => (item.id === change.id ? document : item)) : [...items, document];
}

/**
 * The list to show when an answer arrives: the newer of what is held and what was fetched, brought up to date
 * with the changes that overtook the answer.
 */
export function settle<T extends Entry>(
  fetched: Listing<T>,
  held: Listing<T> | undefined,
  since: readonly Change[],
): Listing<T> {
  const base = held !== undefined && held.revision > fetched.revision ? held : fetched;
  return since.reduce(applyChange<T>, base);
}
