import { expect, test } from "vitest";
import { curlFor } from "./UseIt";

test("the command names this server and this model", () => {
  expect(curlFor("org/qwen", "http://10.0.0.1:9090")).toContain("http://10.0.0.1:9090/v1/chat/completions");
  expect(curlFor("org/qwen", "")).toContain('"model":"org/qwen"');
});

test("a quote in a name does not end the shell's string", () => {
  expect(curlFor("it's", "")).toContain(`"model":"it'\\''s"`);
});
