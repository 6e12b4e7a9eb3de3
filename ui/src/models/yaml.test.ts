import { expect, test } from "vitest";
import { parsed, placeOf, type Yaml, YamlError, yamlOf } from "./yaml";

const SPEC: Yaml = {
  name: "org/qwen",
  source: "huggingface:Qwen/Qwen2.5-7B",
  include: ["*.safetensors", "tokenizer.json"],
  replicas: 2,
  autoscale: null,
  options: {
    "max-model-len": 4096,
    "load-format": "on",
    rope: { factor: 2.5, kinds: ["a", 1] },
    note: "a: b # c",
  },
  env: { HF_TOKEN: "***", EMPTY: "", LINES: "a\nb" },
  placement: {},
  trust_remote_code: false,
};

test("what is written is read as it was", () => {
  expect(parsed(yamlOf(SPEC))).toEqual(SPEC);
});

test("words that mean something else are quoted, plain ones are not", () => {
  expect(yamlOf({ a: "yes", b: "plain word", c: "1.5", d: "x: y" })).toBe(
    'a: "yes"\nb: plain word\nc: "1.5"\nd: "x: y"\n',
  );
});

test("as people write it: remarks, quotes, lists that are not indented, maps in lists", () => {
  const text = [
    "# mine",
    "name: 'it''s' # here",
    "list:",
    "- 1",
    "- a: 1",
    "  b: two words",
    "empty:",
    "url: http://host:80/x#y",
    "deep:",
    "    more:",
    "        - x",
  ].join("\n");
  expect(parsed(text)).toEqual({
    name: "it's",
    list: [1, { a: 1, b: "two words" }],
    empty: null,
    url: "http://host:80/x#y",
    deep: { more: ["x"] },
  });
});

test.each([
  ["a: 1\n b: 2", 2],
  ["a: 1\na: 2", 2],
  ["a: 1\n\nwhat", 3],
  ["a: |\n  text", 1],
  ["a: &x 1", 1],
  ["a: [1, 2", 1],
  ["a: b: c", 1],
  ["a:\n\t- 1", 2],
])("%j is refused at line %i", (text, line) => {
  try {
    parsed(text);
  } catch (failure) {
    expect(failure).toBeInstanceOf(YamlError);
    expect((failure as YamlError).line).toBe(line);
    return;
  }
  expect.unreachable();
});

test("a field of a refusal is found in the text, or what holds it", () => {
  const text = "name: a\noptions:\n  tp: 2\nreplicas: 1\n";
  expect(placeOf(text, "options.tp")).toBe(3);
  expect(placeOf(text, "options.other")).toBe(2);
  expect(placeOf(text, "nothing")).toBeNull();
});
