// Of two documents only what differs; all of one where the other is missing. Pure.

type Document = Record<string, unknown>;

export function changed(
  before: Document | null,
  after: Document | null,
): { before: Document | null; after: Document | null } {
  if (before === null || after === null) return { before, after };
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const differing = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  const only = (all: Document) => Object.fromEntries(differing.map((name) => [name, all[name] ?? null]));
  return { before: only(before), after: only(after) };
}
