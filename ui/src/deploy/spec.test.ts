import { expect, test } from "vitest";
import { bodyOf, commandOf, kindOf, NOTHING, nameFor, patched, placeOf, quoted, sourceOf } from "./spec";

test.each([
  ["huggingface:Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b-instruct"],
  ["modelscope:Qwen/Qwen3-0.6B-GGUF", "qwen3-0.6b"],
  ["/models/SmolLM2 135M.Q4_K_M.gguf", "smollm2-135m.q4_k_m"],
  ["/models/dir/", "dir"],
  ["", ""],
])("%j is called %j", (source, name) => {
  expect(nameFor(source)).toBe(name);
});

test.each([
  ["local", "/models/x.gguf", "/models/x.gguf"],
  ["huggingface", "org/name", "huggingface:org/name"],
  ["modelscope", "huggingface:org/name ", "modelscope:org/name"],
  ["huggingface", "", ""],
] as const)("from %s, %j is the source %j", (kind, place, source) => {
  expect(sourceOf(kind, place)).toBe(source);
});

test("a source tells where it is from", () => {
  expect([kindOf("modelscope:a/b"), placeOf("modelscope:a/b")]).toEqual(["modelscope", "a/b"]);
  expect(kindOf("/models/x")).toBe("local");
});

test("a remedy is merged as the server would merge it", () => {
  const spec = { ...NOTHING, options: { "max-model-len": "8192", threads: "2" } };
  expect(patched(spec, { options: { "max-model-len": 1024, threads: null }, replicas: 2 })).toEqual({
    ...NOTHING,
    options: { "max-model-len": 1024 },
    replicas: 2,
  });
});

test("what was left empty is the server's to choose", () => {
  const spec = { ...NOTHING, name: "m", source: "/m", backend: "", include: [], trust_remote_code: false };
  expect(bodyOf(spec)).toEqual({ name: "m", source: "/m", replicas: 1 });
  expect(bodyOf({ ...spec, autoscale: { min: 1, max: 3 } })).toEqual({
    name: "m",
    source: "/m",
    autoscale: { min: 1, max: 3 },
  });
});

test("the command says the same", () => {
  const spec = {
    ...NOTHING,
    name: "my model",
    source: "huggingface:a/b",
    include: ["*q4*"],
    autoscale: { min: 1, max: 3 },
    options: { "max-model-len": 1024, "chat-template": "it's" },
    placement: { devices: ["w1:0", "w1:1"] },
    trust_remote_code: true,
  };
  expect(commandOf(spec).split(" \\\n  ")).toEqual([
    "gpustack-lite models deploy 'my model'",
    "--source huggingface:a/b",
    "--include '*q4*'",
    "--replicas 1..3",
    "--option max-model-len=1024",
    `--option 'chat-template=it'\\''s'`,
    "--device w1:0",
    "--device w1:1",
    "--trust-remote-code",
  ]);
});

test.each([
  ["a/b:c", "a/b:c"],
  ["$HOME", "'$HOME'"],
])("%j is written %j", (text, written) => {
  expect(quoted(text)).toBe(written);
});
