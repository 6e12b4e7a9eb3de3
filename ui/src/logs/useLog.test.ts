import { expect, test } from "vitest";
import { lastLines } from "./useLog";

test("a log keeps its last lines", () => {
  expect(lastLines("a\nb\nc\nd\n", 2)).toBe("c\nd\n");
});

test("a short log is kept whole", () => {
  expect(lastLines("a\nb", 2)).toBe("a\nb");
});
