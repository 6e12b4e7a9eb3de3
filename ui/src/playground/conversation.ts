// What was said so far, and what of it a request carries. Pure.

import { type Failure, isBlank, type ToolCall } from "./answer";
import type { Run } from "./run";
import type { Sampling } from "./search";

export type Turn =
  | { kind: "asked"; text: string; pictures: string[] }
  | { kind: "answered"; run: Run; model: string }
  | { kind: "results"; results: { call: ToolCall; text: string }[] };

export type Part = { type: "text"; text: string } | { type: "image_url"; image_url: { url: string } };

export type Message = Record<string, unknown> & { role: string };

/** Answers that failed before their first word are not part of what a model is told again. */
export function messagesOf(system: string, turns: Turn[]): Message[] {
  const first: Message[] = system.trim() === "" ? [] : [{ role: "system", content: system }];
  return [...first, ...turns.flatMap(said)];
}

function said(turn: Turn): Message[] {
  if (turn.kind === "asked") return [{ role: "user", content: contentOf(turn.text, turn.pictures) }];
  if (turn.kind === "results") {
    return turn.results.map(({ call, text }) => ({ role: "tool", tool_call_id: call.id, content: text }));
  }
  const { text, calls } = turn.run.answer;
  if (isBlank(turn.run.answer)) return [];
  const called = calls.map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
  }));
  return [{ role: "assistant", content: text, ...(called.length === 0 ? {} : { tool_calls: called }) }];
}

function contentOf(text: string, pictures: string[]): string | Part[] {
  if (pictures.length === 0) return text;
  const seen = pictures.map((url): Part => ({ type: "image_url", image_url: { url } }));
  return text === "" ? seen : [{ type: "text", text }, ...seen];
}

/** A chat completion without its model, streamed, with usage at its end. */
export function requestOf(
  messages: Message[],
  sampling: Sampling,
  tools: unknown[],
): Record<string, unknown> {
  return {
    messages,
    ...sampling,
    ...(tools.length === 0 ? {} : { tools }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

/** The calls that wait for a result: those of the last answer. */
export function openCalls(turns: Turn[]): ToolCall[] {
  const last = turns.at(-1);
  return last?.kind === "answered" && last.run.answer.failure === null ? last.run.answer.calls : [];
}

/** Definitions of tools as they were typed; null where that is no list of objects. */
export function toolsIn(typed: string): unknown[] | null {
  if (typed.trim() === "") return [];
  try {
    const found: unknown = JSON.parse(typed);
    const list = Array.isArray(found) ? found : [found];
    return list.every((each) => typeof each === "object" && each !== null) ? list : null;
  } catch {
    return null;
  }
}

/** What a person can do about a failure, by the code of the error; `words` are below playground.remedies. */
export const REMEDIES = {
  model_not_ready: "notReady",
  route_leads_nowhere: "notReady",
  model_not_found: "notFound",
  model_not_allowed: "notAllowed",
  scope_missing: "notAllowed",
  viewer_only_reads: "notAllowed",
  rate_limit_exceeded: "wait",
  queue_full: "wait",
  queue_timeout: "wait",
  server_busy: "wait",
  insufficient_quota: "quota",
  context_length_exceeded: "shorter",
  body_too_large: "shorter",
  path_not_served: "otherModel",
  engine_broke: "logs",
  engine_timeout: "logs",
  engine_not_http: "logs",
  unsupported_parameter: "parameters",
  invalid_request_error: "parameters",
} as const;
export type Remedy = (typeof REMEDIES)[keyof typeof REMEDIES] | "again";

export function remedyOf({ code }: Failure): Remedy {
  return Object.hasOwn(REMEDIES, code) ? REMEDIES[code as keyof typeof REMEDIES] : "again";
}
