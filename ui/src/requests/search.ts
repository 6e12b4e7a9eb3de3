// What the address of the request log says: what the list is narrowed to, and which row is open.

export interface RequestsSearch {
  model?: string;
  key?: number;
  user?: number;
  status?: string;
  cause?: string;
  request?: string;
  /** Local times as a person types them, 2026-12-01T07:20. */
  from?: string;
  to?: string;
  open?: string;
}

const STATUS = /^[1-5](xx|\d\d)$/;
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/;

export function requestsSearch(given: Record<string, unknown>): RequestsSearch {
  const search: RequestsSearch = {};
  for (const name of ["model", "cause", "request", "open"] as const) {
    // a router reads ?request=123 as a number
    const value = given[name];
    if (typeof value === "string" || typeof value === "number") {
      if (String(value) !== "") search[name] = String(value);
    }
  }
  for (const name of ["key", "user"] as const) {
    const value = given[name];
    if (Number.isSafeInteger(value) && (value as number) > 0) search[name] = value as number;
  }
  const status = String(given.status ?? "");
  if (STATUS.test(status)) search.status = status;
  for (const name of ["from", "to"] as const) {
    const value = given[name];
    if (typeof value === "string" && MOMENT.test(value) && !Number.isNaN(Date.parse(value)))
      search[name] = value;
  }
  return search;
}

/** The query of the API, without cursor and limit. */
export function queryOf(search: RequestsSearch): URLSearchParams {
  const { from, to, open: _, ...same } = search;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(same)) query.set(name, String(value));
  if (from !== undefined) query.set("from", new Date(from).toISOString());
  if (to !== undefined) query.set("to", new Date(to).toISOString());
  return query;
}

export function isNarrowed({ open: _, ...rest }: RequestsSearch): boolean {
  return Object.keys(rest).length > 0;
}
