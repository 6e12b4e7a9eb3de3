// One answer of a chat as it grows: what each frame of the stream adds to it. Pure.

export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

export interface Usage {
  prompt: number;
  completion: number;
  reasoning: number | null;
}

/** `sentence` is the server's, in the reader's language; empty where none came. */
export interface Failure {
  code: string;
  sentence: string;
}

export interface Answer {
  text: string;
  reasoning: string;
  calls: ToolCall[];
  finish: string | null;
  usage: Usage | null;
  failure: Failure | null;
  /** Frames that brought something: what is counted where an engine tells no usage. */
  frames: number;
}

export const NOTHING_SAID: Answer = {
  text: "",
  reasoning: "",
  calls: [],
  finish: null,
  usage: null,
  failure: null,
  frames: 0,
};

interface Delta {
  content?: string | null;
  reasoning_content?: string | null;
  reasoning?: string | null;
  tool_calls?: CallDelta[] | null;
}

interface CallDelta {
  index?: number;
  id?: string | null;
  function?: { name?: string | null; arguments?: string | null };
}

interface Frame {
  choices?: { delta?: Delta; message?: Delta; finish_reason?: string | null }[];
  usage?: {
    prompt_tokens?: number;
    completion_tokens?: number;
    completion_tokens_details?: { reasoning_tokens?: number } | null;
  } | null;
  error?: { message?: string; code?: string | number | null } | string;
}

/** `data` is one event of the stream. */
export function heard(answer: Answer, data: string): Answer {
  if (data === "[DONE]" || data === "") return answer;
  const frame = parsed(data);
  if (frame === null) return { ...answer, failure: { code: "not_understood", sentence: "" } };
  if (frame.error !== undefined) return { ...answer, failure: failureOf(frame) };
  const grown = (frame.choices ?? []).reduce(grownBy, answer);
  const usage = frame.usage;
  return usage
    ? {
        ...grown,
        usage: {
          prompt: usage.prompt_tokens ?? 0,
          completion: usage.completion_tokens ?? 0,
          reasoning: usage.completion_tokens_details?.reasoning_tokens ?? null,
        },
      }
    : grown;
}

/** The body of an answer that is an error, whatever it looks like. */
export function failureIn(body: string): Failure {
  const frame = parsed(body);
  return frame === null ? { code: "not_understood", sentence: body.slice(0, 500) } : failureOf(frame);
}

export function isBlank({ text, reasoning, calls }: Answer): boolean {
  return text === "" && reasoning === "" && calls.length === 0;
}

function grownBy(answer: Answer, choice: NonNullable<Frame["choices"]>[number]): Answer {
  const delta = choice.delta ?? choice.message ?? {};
  const text = delta.content ?? "";
  const reasoning = delta.reasoning_content ?? delta.reasoning ?? "";
  const calls = delta.tool_calls ?? [];
  const isContent = text !== "" || reasoning !== "" || calls.length > 0;
  return {
    ...answer,
    text: answer.text + text,
    reasoning: answer.reasoning + reasoning,
    calls: calls.reduce(calledBy, answer.calls),
    finish: choice.finish_reason ?? answer.finish,
    frames: answer.frames + (isContent ? 1 : 0),
  };
}

function calledBy(calls: ToolCall[], { index = calls.length, id, function: said }: CallDelta): ToolCall[] {
  const before = calls[index] ?? { id: `call_${index}`, name: "", arguments: "" };
  const call = {
    id: id || before.id,
    name: before.name + (said?.name ?? ""),
    arguments: before.arguments + (said?.arguments ?? ""),
  };
  return [...calls.slice(0, index), call, ...calls.slice(index + 1)];
}

function failureOf({ error }: Frame): Failure {
  if (typeof error === "string") return { code: "", sentence: error };
  return { code: String(error?.code ?? ""), sentence: error?.message ?? "" };
}

function parsed(data: string): Frame | null {
  try {
    const found: unknown = JSON.parse(data);
    return typeof found === "object" && found !== null ? found : null;
  } catch {
    return null;
  }
}
