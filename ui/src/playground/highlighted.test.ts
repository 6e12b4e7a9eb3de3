import type { ReactElement, ReactNode } from "react";
import { expect, test } from "vitest";
import { highlighted } from "./highlighted";
import { allowed } from "./Markdown";

type Span = ReactElement<{ className: string; children: ReactNode }>;

function plain(node: ReactNode): string {
  if (Array.isArray(node)) return node.map(plain).join("");
  if (typeof node === "string") return node;
  return plain((node as Span).props.children);
}

test("colours change nothing of the text", () => {
  const code = 'def f(x: str) -> str:\n    return f"{x} <b>&amp;</b>"  # done\n';
  const drawn = highlighted(code, "python");
  expect(plain(drawn)).toBe(code);
  expect((drawn as ReactNode[]).some((each) => (each as Span).props?.className === "code-keyword")).toBe(
    true,
  );
});

test("a language that is not known stays as it is", () => {
  expect(highlighted("hello", "klingon")).toBe("hello");
});

test.each([
  ["https://example.com/a", true],
  ["mailto:a@example.com", true],
  ["data:image/png;base64,AAAA", true],
  ["data:image/svg+xml;base64,AAAA", false],
  ["data:text/html,<script>", false],
  ["javascript:alert(1)", false],
  [" javascript:alert(1)", false],
  ["/api/v1/keys", false],
])("an address %s that a model wrote is taken: %s", (url, isTaken) => {
  expect(allowed(url) !== "").toBe(isTaken);
});
