// Sending a chat: to one model, or to several at once in one stream. What comes is told as it comes.

import { type Api, ApiError } from "../api/client";
import { messageReader } from "../live/sse";
import { type Failure, failureIn } from "./answer";

export type Told = { kind: "data"; data: string } | { kind: "failed"; failure: Failure } | { kind: "ended" };
export type Tell = (pane: number, told: Told) => void;
type Request = Record<string, unknown>;

export async function askOne(api: Api, request: Request, signal: AbortSignal, tell: (told: Told) => void) {
  const response = await posted(api, "/v1/chat/completions", request, signal);
  const read = messageReader();
  for await (const chunk of textOf(response)) {
    for (const { data } of read(chunk)) tell({ kind: "data", data });
  }
  tell({ kind: "ended" });
}

/** HTTP/1.1 gives a browser six connections to a host; so all answers come in one stream, each with its pane. */
export async function askAll(api: Api, models: string[], request: Request, signal: AbortSignal, tell: Tell) {
  const response = await posted(api, "/api/v1/compare", { models, request }, signal);
  const panes = models.map((_, pane) => paneReader((told) => tell(pane, told)));
  const read = messageReader();
  for await (const chunk of textOf(response)) {
    for (const { event, data } of read(chunk)) {
      if (data === "") continue;
      const { pane, ...more } = JSON.parse(data) as PaneEvent;
      panes[pane]?.(event, more);
    }
  }
}

/** A failure of the whole request, or null where the reader himself stopped it. */
export function failureOf(error: unknown): Failure | null {
  if (error instanceof DOMException && error.name === "AbortError") return null;
  if (error instanceof ApiError) return { code: error.code, sentence: error.message };
  if (error instanceof TypeError) return { code: "connection_lost", sentence: "" };
  throw error;
}

interface PaneEvent {
  pane: number;
  status?: number;
  text?: string;
  message?: string;
}

/** `begin` says the status, `part` brings text of the answer, `end` or `broken` is the last. Exported for its test. */
export function paneReader(
  tell: (told: Told) => void,
): (event: string, said: Omit<PaneEvent, "pane">) => void {
  const read = messageReader();
  let refusal: string | null = null;
  return (event, { status = 0, text = "", message = "" }) => {
    if (event === "begin" && status >= 400) refusal = "";
    else if (event === "part" && refusal !== null) refusal += text;
    else if (event === "part") for (const { data } of read(text)) tell({ kind: "data", data });
    else if (event === "broken")
      tell({ kind: "failed", failure: { code: "compare_broken", sentence: message } });
    else if (event === "end") {
      tell(refusal === null ? { kind: "ended" } : { kind: "failed", failure: failureIn(refusal) });
    }
  };
}

async function posted(api: Api, path: string, body: Request, signal: AbortSignal): Promise<Response> {
  return api.open(path, { method: "POST", headers: api.writeHeaders(), body: JSON.stringify(body), signal });
}

async function* textOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    yield part.value;
  }
}
