// The same request as a program: for curl, and for OpenAI's clients in Python and JavaScript. Pure.

import type { Tongue } from "./search";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Body = { [name: string]: Json };

/** What is asked, and what becomes of the answer. A file is one that lies beside the program. */
export type Ask =
  | { kind: "chat"; body: Body }
  | { kind: "embeddings"; body: Body }
  | { kind: "rerank"; body: Body }
  | { kind: "image"; body: Body }
  | { kind: "speak"; body: Body }
  | { kind: "transcribe"; body: Body; file: string };

export const PATHS: Record<Ask["kind"], string> = {
  chat: "/v1/chat/completions",
  embeddings: "/v1/embeddings",
  rerank: "/v1/rerank",
  image: "/v1/images/generations",
  speak: "/v1/audio/speech",
  transcribe: "/v1/audio/transcriptions",
};

/** In the place of a picture, whose data would bury the program: one grey pixel, so that it still runs. */
export const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
const LONGEST_ADDRESS = 300;

export function codeOf(tongue: Tongue, ask: Ask, address: string): string {
  const shown = { ...ask, body: withoutPictures(ask.body) as Body };
  return { curl, python, javascript }[tongue](shown, `${address}/v1`);
}

function withoutPictures(value: Json): Json {
  if (typeof value === "string") {
    return value.startsWith("data:") && value.length > LONGEST_ADDRESS ? PIXEL : value;
  }
  if (Array.isArray(value)) return value.map(withoutPictures);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutPictures(each)]));
}

// --- curl

function curl(ask: Ask, base: string): string {
  const ends = ask.kind === "speak" ? [`  --output speech.${format(ask)}`] : [];
  return [
    `curl ${ask.kind === "chat" ? "-N " : ""}${base.slice(0, -"/v1".length)}${PATHS[ask.kind]} \\`,
    '  -H "Authorization: Bearer $GPUSTACK_LITE_API_KEY" \\',
    ...(ask.kind === "transcribe" ? formLines(ask) : jsonLines(ask.body, ends.length > 0)),
    ...ends,
  ].join("\n");
}

function jsonLines(body: Body, goesOn: boolean): string[] {
  const text = quoted(JSON.stringify(body, null, 2));
  return ['  -H "Content-Type: application/json" \\', `  -d ${text}${goesOn ? " \\" : ""}`];
}

function formLines({ body, file }: Ask & { kind: "transcribe" }): string[] {
  const fields = Object.entries(body).map(([name, value]) => `  -F ${quoted(`${name}=${String(value)}`)} \\`);
  return [...fields, `  -F ${quoted(`file=@${file}`)}`];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

// --- Python

const PYTHON_CALLS = {
  chat: "chat.completions.create",
  embeddings: "embeddings.create",
  image: "images.generate",
  speak: "audio.speech.with_streaming_response.create",
  transcribe: "audio.transcriptions.create",
} as const;

function python(ask: Ask, base: string): string {
  const imports = ask.kind === "image" ? ["import base64", "import os"] : ["import os"];
  return [
    ...imports,
    "",
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${JSON.stringify(base)}, api_key=os.environ["GPUSTACK_LITE_API_KEY"])`,
    ...pythonLines(ask),
  ].join("\n");
}

function pythonLines(ask: Ask): string[] {
  if (ask.kind === "rerank") {
    const body = pythonValue(ask.body, 0);
    return [`answer = client.post("/rerank", cast_to=object, body=${body})`, "print(answer)"];
  }
  const file = ask.kind === "transcribe" ? [`    file=open(${JSON.stringify(ask.file)}, "rb"),`] : [];
  const given = Object.entries(ask.body).map(([name, value]) => `    ${name}=${pythonValue(value, 1)},`);
  const call = `client.${PYTHON_CALLS[ask.kind]}(`;
  if (ask.kind === "speak") {
    return [`with ${call}`, ...given, ") as answer:", `    answer.stream_to_file("speech.${format(ask)}")`];
  }
  return [`answer = ${call}`, ...given, ...file, ")", ...PYTHON_ENDS[ask.kind]];
}

const PYTHON_ENDS = {
  chat: [
    "for chunk in answer:",
    "    if chunk.choices:",
    '        print(chunk.choices[0].delta.content or "", end="", flush=True)',
  ],
  embeddings: ["for each in answer.data:", "    print(each.index, each.embedding[:4])"],
  image: [
    'with open("picture.png", "wb") as file:',
    "    file.write(base64.b64decode(answer.data[0].b64_json))",
  ],
  transcribe: ["print(answer.text)"],
} as const;

function pythonValue(value: Json, depth: number): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = "    ".repeat(depth + 1);
  const outer = "    ".repeat(depth);
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((each) => `${inner}${pythonValue(each, depth + 1)},`)
    : Object.entries(value).map(
        ([name, each]) => `${inner}${JSON.stringify(name)}: ${pythonValue(each, depth + 1)},`,
      );
  const [open, close] = isList ? "[]" : "{}";
  return items.length === 0 ? `${open}${close}` : `${open}\n${items.join("\n")}\n${outer}${close}`;
}

// --- JavaScript

function javascript(ask: Ask, base: string): string {
  const needsFiles = ask.kind !== "chat" && ask.kind !== "embeddings" && ask.kind !== "rerank";
  return [
    ...(needsFiles ? ['import fs from "node:fs";'] : []),
    'import OpenAI from "openai";',
    "",
    "const client = new OpenAI({",
    `  baseURL: ${JSON.stringify(base)},`,
    "  apiKey: process.env.GPUSTACK_LITE_API_KEY,",
    "});",
    ...javascriptLines(ask),
  ].join("\n");
}

function javascriptLines(ask: Ask): string[] {
  const body = JSON.stringify(ask.body, null, 2);
  switch (ask.kind) {
    case "chat":
      return [
        `const answer = await client.chat.completions.create(${body});`,
        "for await (const chunk of answer) {",
        '  process.stdout.write(chunk.choices[0]?.delta?.content ?? "");',
        "}",
      ];
    case "embeddings":
      return [
        `const answer = await client.embeddings.create(${body});`,
        "for (const each of answer.data) console.log(each.index, each.embedding.slice(0, 4));",
      ];
    case "rerank":
      return [`const answer = await client.post("/rerank", { body: ${body} });`, "console.log(answer);"];
    case "image":
      return [
        `const answer = await client.images.generate(${body});`,
        'fs.writeFileSync("picture.png", Buffer.from(answer.data[0].b64_json, "base64"));',
      ];
    case "speak":
      return [
        `const answer = await client.audio.speech.create(${body});`,
        `fs.writeFileSync("speech.${format(ask)}", Buffer.from(await answer.arrayBuffer()));`,
      ];
    case "transcribe":
      return [
        "const answer = await client.audio.transcriptions.create({",
        `  ...${JSON.stringify(ask.body)},`,
        `  file: fs.createReadStream(${JSON.stringify(ask.file)}),`,
        "});",
        "console.log(answer.text);",
      ];
  }
}

function format(ask: Ask): string {
  return String(ask.body.response_format ?? "mp3");
}
