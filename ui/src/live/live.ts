// Joins lists and stream: what the stream says goes into the query cache, what lists answer is brought up to date.

import type { QueryClient, QueryKey } from "@tanstack/react-query";
import type { Status } from "./follow";
import type { FromHub } from "./hub";
import { applyChange, type Change, type Entry, type Listing, settle } from "./listing";
import type { Message } from "./sse";

/** A live list's query key: the kind of the stream's documents, then what they must have, such as a model's name. */
export type LiveKey = readonly ["live", kind: string, wanted?: Readonly<Record<string, unknown>>];

const FLUSH_MS = 100;
const KEPT_CHANGES = 5000;
const TRIES = 4;

export class Live {
  status: Status = { phase: "connecting", since: Date.now() };
  private readonly watchers = new Set<() => void>();
  private changes: Change[] = [];
  private waiting: Change[] = [];
  private timer: ReturnType<typeof setTimeout> | null = null;
  /** Lists older than this may lack changes that this tab was never told. */
  private floor = 0;
  private generation = 0;

  constructor(private readonly queries: QueryClient) {}

  hear = (said: FromHub): void => {
    if (said.type === "status") this.setStatus(said.status);
    else this.receive(said.message);
  };

  subscribe = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  getStatus = (): Status => this.status;

  /** Fetches until the answer is one that the stream can go on from. */
  async list<T extends Entry>(key: LiveKey, fetchList: () => Promise<Listing<T>>): Promise<Listing<T>> {
    for (let left = TRIES; left > 0; left -= 1) {
      const generation = this.generation;
      const fetched = await fetchList();
      if (generation !== this.generation || fetched.revision < this.floor) continue;
      return settle(fetched, this.queries.getQueryData<Listing<T>>(key), this.changes.filter(wantedBy(key)));
    }
    throw new Error("the lists lag behind the change stream");
  }

  /** Everything is asked for again, as after a change of language. */
  relist(): void {
    this.startOver(Math.max(this.floor, this.changes.at(-1)?.revision ?? 0));
  }

  private receive(message: Message): void {
    if (message.event === "hello") this.greet(Number(message.id));
    else if (message.event === "reset") this.startOver(Number(message.id));
    else this.take(message);
  }

  /** After a pause in the line: nothing was missed if nothing happened, else every list is asked for again. */
  private greet(revision: number): void {
    this.flush();
    const seen = Math.max(this.floor, this.changes.at(-1)?.revision ?? 0);
    if (revision === seen) return;
    if (revision < seen) {
      this.startOver(revision);
      return;
    }
    this.floor = revision;
    this.changes = [];
    void this.queries.invalidateQueries({
      predicate: ({ queryKey, state }) => isBehind(queryKey, state.data, revision),
    });
  }

  /** The numbering began anew: what is held says nothing any more. */
  private startOver(floor: number): void {
    this.generation += 1;
    this.floor = floor;
    this.changes = [];
    this.waiting = [];
    this.queries.removeQueries({ queryKey: ["live"], type: "inactive" });
    for (const [key] of this.queries.getQueriesData({ queryKey: ["live"] })) this.forget(key);
    void this.queries.invalidateQueries({ queryKey: ["live"] });
  }

  /** Rows stay on the screen until the new ones are there, but any answer is newer than they are. */
  private forget(key: QueryKey): void {
    this.queries.setQueryData<Listing<Entry>>(key, (held) => held && { ...held, revision: -1 });
  }

  private take(message: Message): void {
    const said = JSON.parse(message.data) as Omit<Change, "revision">;
    this.waiting.push({ ...said, revision: Number(message.id) });
    this.timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  /** Many changes, one paint. */
  private flush(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const news = this.waiting;
    this.waiting = [];
    if (news.length === 0) return;
    this.remember(news);
    for (const [key] of this.queries.getQueriesData<Listing<Entry>>({ queryKey: ["live"] })) {
      const mine = news.filter(wantedBy(key as unknown as LiveKey));
      if (mine.length === 0) continue;
      this.queries.setQueryData<Listing<Entry>>(key, (held) => held && mine.reduce(applyChange, held));
    }
  }

  /** An answer older than the oldest change that is still kept cannot be brought up to date: it is asked for again. */
  private remember(news: Change[]): void {
    const all = [...this.changes, ...news];
    const dropped = all.slice(0, Math.max(0, all.length - KEPT_CHANGES));
    this.changes = all.slice(dropped.length);
    this.floor = Math.max(this.floor, dropped.at(-1)?.revision ?? 0);
  }

  private setStatus(status: Status): void {
    this.status = status;
    for (const watcher of this.watchers) watcher();
  }
}

function wantedBy([, kind, wanted = {}]: LiveKey): (change: Change) => boolean {
  const conditions = Object.entries(wanted);
  return ({ kind: changed, document }) =>
    changed === kind &&
    (document === null ||
      conditions.every(([name, value]) => (document as unknown as Record<string, unknown>)[name] === value));
}

function isBehind(key: QueryKey, data: unknown, revision: number): boolean {
  return key[0] === "live" && ((data as Listing<Entry> | undefined)?.revision ?? -1) < revision;
}
