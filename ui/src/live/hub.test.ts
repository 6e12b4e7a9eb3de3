import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type FromHub, Hub } from "./hub";

/** The server's side of each stream that was opened. */
let lines: { send(text: string): void; end(): void; headers: Record<string, string>; signal: AbortSignal }[];
let answers: number[];

beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  answers = [];
  vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
    const status = answers.shift() ?? 200;
    if (status !== 200) return new Response(null, { status });
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const encoder = new TextEncoder();
    init.signal?.addEventListener("abort", () => void writer.abort("hung up").catch(() => {}));
    lines.push({
      send: (text) => void writer.write(encoder.encode(text)).catch(() => {}),
      end: () => void writer.close(),
      headers: init.headers as Record<string, string>,
      signal: init.signal as AbortSignal,
    });
    return new Response(readable);
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function tab() {
  const heard: FromHub[] = [];
  return {
    heard,
    post: (said: FromHub) => void heard.push(said),
    ids: () =>
      heard.flatMap((said) => (said.type === "message" ? [`${said.message.event} ${said.message.id}`] : [])),
    phases: () => heard.flatMap((said) => (said.type === "status" ? [said.status.phase] : [])),
  };
}

const settled = (ms = 0) => vi.advanceTimersByTimeAsync(ms);

test("two tabs share one stream", async () => {
  const hub = new Hub("/watch");
  const [one, two] = [tab(), tab()];
  hub.open(one, "en");
  hub.open(two, "en");
  await settled();
  lines[0]?.send("event: hello\nid: 3\ndata: {}\n\nid: 4\ndata: {}\n\n");
  await settled();
  expect(lines).toHaveLength(1);
  expect(one.ids()).toEqual(["hello 3", "message 4"]);
  expect(two.ids()).toEqual(one.ids());
});

test("a later tab is greeted with the latest change", async () => {
  const hub = new Hub("/watch");
  hub.open(tab(), "en");
  await settled();
  lines[0]?.send("event: hello\nid: 3\ndata: {}\n\nid: 4\ndata: {}\n\n");
  await settled();
  const late = tab();
  hub.open(late, "en");
  expect(late.phases()).toEqual(["live"]);
  expect(late.ids()).toEqual(["hello 4"]);
});

test("the stream ends with the last tab", async () => {
  const hub = new Hub("/watch");
  const [one, two] = [tab(), tab()];
  hub.open(one, "en");
  hub.open(two, "en");
  await settled();
  hub.close(one);
  expect(lines[0]?.signal.aborted).toBe(false);
  hub.close(two);
  expect(lines[0]?.signal.aborted).toBe(true);
});

test("a stream that breaks is dialled again", async () => {
  const hub = new Hub("/watch");
  const reader = tab();
  hub.open(reader, "en");
  await settled();
  lines[0]?.end();
  await settled(1000);
  expect(reader.phases()).toEqual(["connecting", "live", "lost", "live"]);
  expect(lines).toHaveLength(2);
});

test("a line on which nothing is heard for 25 s is dead", async () => {
  const hub = new Hub("/watch");
  const reader = tab();
  hub.open(reader, "en");
  await settled(24_000);
  lines[0]?.send(": alive\n\n");
  await settled(24_000);
  expect(reader.phases()).toEqual(["connecting", "live"]);
  await settled(2000);
  expect(reader.phases()).toEqual(["connecting", "live", "lost", "live"]);
});

test("a server that is away is dialled with growing pauses", async () => {
  answers = [503, 503, 503];
  const hub = new Hub("/watch");
  hub.open(tab(), "en");
  await settled(6900);
  expect(lines).toHaveLength(0);
  await settled(200);
  expect(lines).toHaveLength(1);
});

test("a session that ended is not dialled again until somebody signs in", async () => {
  answers = [401];
  const hub = new Hub("/watch");
  const reader = tab();
  hub.open(reader, "en");
  await settled(60_000);
  expect(reader.phases()).toEqual(["connecting", "refused"]);
  hub.open(reader, "en");
  await settled();
  expect(lines).toHaveLength(1);
});

test("another language is another stream", async () => {
  const hub = new Hub("/watch");
  const reader = tab();
  hub.open(reader, "en");
  await settled();
  hub.open(reader, "zh-CN");
  await settled();
  expect(lines.map(({ headers, signal }) => [headers["Accept-Language"], signal.aborted])).toEqual([
    ["en", true],
    ["zh-CN", false],
  ]);
});
