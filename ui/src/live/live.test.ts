import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Entry, Listing } from "./listing";
import { Live, type LiveKey } from "./live";

interface Row extends Entry {
  state: string;
  model?: string;
}

const MODELS: LiveKey = ["live", "model"];
let queries: QueryClient;
let live: Live;
/** What the server would answer now. */
let served: Listing<Row>;
let asked: number;

beforeEach(() => {
  vi.useFakeTimers();
  queries = new QueryClient({
    defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, retry: false } },
  });
  live = new Live(queries);
  served = { revision: 10, items: [{ id: 1, state: "pending" }] };
  asked = 0;
});

afterEach(() => {
  queries.clear();
  vi.useRealTimers();
});

const say = (event: string, id: number, data: object = {}) =>
  live.hear({ type: "message", message: { event, id: String(id), data: JSON.stringify(data) } });
const change = (
  id: number,
  op: "put" | "delete",
  document: Row | null,
  object = document?.id ?? 0,
  kind = "model",
) => say("message", id, { kind, op, id: object, document });
const settled = () => vi.advanceTimersByTimeAsync(200);
const rows = (key: LiveKey = MODELS) => queries.getQueryData<Listing<Row>>(key)?.items;

async function ask(): Promise<Listing<Row>> {
  asked += 1;
  return structuredClone(served);
}

function open(key: LiveKey = MODELS, fetchList: () => Promise<Listing<Row>> = ask) {
  return queries.fetchQuery({ queryKey: key, queryFn: () => live.list(key, fetchList) });
}

/** An answer that comes when the test says so. */
function deferred() {
  let resolve: (list: Listing<Row>) => void = () => {};
  const promise = new Promise<Listing<Row>>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** A list that a page looks at, so that it is asked for again when it is no longer true. */
async function look(key: LiveKey = MODELS) {
  const stop = new QueryObserver(queries, { queryKey: key, queryFn: () => live.list(key, ask) }).subscribe(
    () => {},
  );
  await settled();
  return stop;
}

test("a change is on the screen within a tenth of a second", async () => {
  await open();
  say("hello", 10);
  change(11, "put", { id: 1, state: "ready" });
  await vi.advanceTimersByTimeAsync(100);
  expect(rows()).toEqual([{ id: 1, state: "ready" }]);
});

test("changes that come together are painted once", async () => {
  await open();
  say("hello", 10);
  const painted = vi.fn();
  queries.getQueryCache().subscribe(painted);
  for (let id = 11; id < 61; id += 1) change(id, "put", { id: 1, state: `step ${id}` });
  await settled();
  expect(painted).toHaveBeenCalledTimes(1);
  expect(rows()).toEqual([{ id: 1, state: "step 60" }]);
});

test("a change that overtakes the first answer is not lost", async () => {
  say("hello", 10);
  const answer = deferred();
  const opened = open(MODELS, () => answer.promise);
  change(11, "put", { id: 1, state: "ready" });
  await settled();
  answer.resolve(served);
  await opened;
  expect(rows()).toEqual([{ id: 1, state: "ready" }]);
});

test("a deletion that overtakes the first answer leaves no ghost row", async () => {
  say("hello", 10);
  const answer = deferred();
  const opened = open(MODELS, () => answer.promise);
  change(11, "delete", null, 1);
  await settled();
  answer.resolve(served);
  await opened;
  expect(rows()).toEqual([]);
});

test("an answer from before the stream began is asked for again", async () => {
  const answer = deferred();
  const fetchList = vi.fn(ask).mockReturnValueOnce(answer.promise);
  const opened = open(MODELS, fetchList);
  say("hello", 12);
  served = { revision: 12, items: [{ id: 2, state: "ready" }] };
  answer.resolve({ revision: 10, items: [{ id: 1, state: "pending" }] });
  await opened;
  expect(rows()).toEqual([{ id: 2, state: "ready" }]);
});

test("nothing is asked again when nothing happened while the line was down", async () => {
  const stop = await look();
  say("hello", 10);
  change(11, "put", { id: 1, state: "ready" });
  await settled();
  say("hello", 11);
  await settled();
  expect(asked).toBe(1);
  stop();
});

test("what happened while the line was down is asked for", async () => {
  const stop = await look();
  say("hello", 10);
  served = { revision: 14, items: [] };
  say("hello", 14);
  await settled();
  expect(rows()).toEqual([]);
  expect(asked).toBe(2);
  stop();
});

test("after a reset every list is asked for again", async () => {
  const stop = await look();
  say("hello", 10);
  served = { revision: 20, items: [{ id: 5, state: "ready" }] };
  say("reset", 20);
  await settled();
  expect(rows()).toEqual([{ id: 5, state: "ready" }]);
  stop();
});

test("a server that counts from a smaller number again is believed", async () => {
  const stop = await look();
  say("hello", 10);
  served = { revision: 3, items: [{ id: 7, state: "ready" }] };
  say("hello", 3);
  await settled();
  change(4, "put", { id: 8, state: "pending" });
  await settled();
  expect(rows()?.map(({ id }) => id)).toEqual([7, 8]);
  stop();
});

test("rows stay on the screen while they are asked for again", async () => {
  const stop = await look();
  say("hello", 10);
  live.relist();
  expect(rows()).toEqual([{ id: 1, state: "pending" }]);
  await settled();
  expect(asked).toBe(2);
  stop();
});

test("a list of one model's events takes only those", async () => {
  const events: LiveKey = ["live", "event", { model: "a" }];
  await open(events);
  say("hello", 10);
  change(11, "put", { id: 2, state: "ready", model: "b" }, 2, "event");
  change(12, "put", { id: 3, state: "ready", model: "a" }, 3, "event");
  await settled();
  expect(rows(events)?.map(({ id }) => id)).toEqual([1, 3]);
});

test("a list that stays behind the stream is an error, not an endless question", async () => {
  say("hello", 50);
  await expect(open()).rejects.toThrow("lag behind");
  expect(asked).toBe(4);
});
