import { expect, test } from "vitest";
import { type Ask, codeOf, PATHS, PIXEL } from "./code";
import { TONGUES } from "./search";

const HERE = "http://10.0.0.1:9090/ai";
const MODEL = { model: "org/it's" };
const ASKS: Ask[] = [
  { kind: "chat", body: { ...MODEL, messages: [{ role: "user", content: "Hi" }], stream: true } },
  { kind: "embeddings", body: { ...MODEL, input: ["a", "b"] } },
  { kind: "rerank", body: { ...MODEL, query: "q", documents: ["a"] } },
  { kind: "image", body: { ...MODEL, prompt: "a cat", response_format: "b64_json" } },
  { kind: "speak", body: { ...MODEL, input: "Hello", voice: "alloy", response_format: "wav" } },
  { kind: "transcribe", body: MODEL, file: "speech.wav" },
];

test.each(ASKS.flatMap((ask) => TONGUES.map((tongue) => [ask.kind, tongue, ask] as const)))(
  "%s in %s names this platform, this model and no key",
  (kind, tongue, ask) => {
    const code = codeOf(tongue, ask, HERE);
    expect(code).toContain(tongue === "curl" ? `${HERE}${PATHS[kind]} ` : `"${HERE}/v1"`);
    expect(code).toContain(tongue === "curl" ? "org/it'\\''s" : '"org/it\'s"');
    expect(code).toContain("GPUSTACK_LITE_API_KEY");
    expect(code.split("\n").every((line) => line === line.trimEnd())).toBe(true);
  },
);

test("Python says True, None and lists as Python does", () => {
  const body = { model: "m", stream: true, seed: null, stop: ["a", "b"], messages: [] };
  const code = codeOf("python", { kind: "chat", body }, HERE);
  expect(code).toContain(
    '    stream=True,\n    seed=None,\n    stop=[\n        "a",\n        "b",\n    ],\n    messages=[],',
  );
});

test("the data of a picture does not bury the program, which still runs", () => {
  const url = `data:image/png;base64,${"A".repeat(5000)}`;
  const messages = [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }];
  const code = codeOf("curl", { kind: "chat", body: { model: "m", messages } }, HERE);
  expect(code).toContain(PIXEL);
  expect(code.length).toBeLessThan(1000);
});

test("a form is sent as a form, a sound is written to a file", () => {
  expect(codeOf("curl", ASKS[5] as Ask, HERE)).toContain("-F 'file=@speech.wav'");
  expect(codeOf("curl", ASKS[4] as Ask, HERE)).toContain("--output speech.wav");
});
