// What the address of the engines' page says: which engine is open, and which of its options are looked for.

export interface BackendsSearch {
  engine?: string;
  q?: string;
}

export function backendsSearch({ engine, q }: Record<string, unknown>): BackendsSearch {
  const search: BackendsSearch = {};
  if (typeof engine === "string" && engine !== "") search.engine = engine;
  if (typeof q === "string" && q !== "") search.q = q;
  return search;
}
