import { expect, test } from "vitest";
import { found, type Line, withText } from "./useLog";

const line = (text: string, at: number | null = null): Line => ({ text, at });

test("text becomes lines, and a line that had not ended goes on", () => {
  const first = withText([], "a\nb", false, null);
  expect(first).toEqual([line("a"), line("b")]);
  expect(withText(first, "c\nd\n", true, 5)).toEqual([line("a"), line("bc"), line("d", 5)]);
  expect(withText(first, "c\n", false, 5)).toEqual([line("a"), line("b"), line("c", 5)]);
});

test("empty lines stay, nothing adds nothing", () => {
  expect(withText([], "a\n\nb\n", false, null).map(({ text }) => text)).toEqual(["a", "", "b"]);
  const held = [line("a")];
  expect(withText(held, "", false, 1)).toBe(held);
});

test("a log keeps its last lines", () => {
  expect(withText([line("a"), line("b")], "c\nd\n", false, null, 3).map(({ text }) => text)).toEqual([
    "b",
    "c",
    "d",
  ]);
});

test("lines are found whatever their case", () => {
  expect(found([line("Error: x"), line("fine")], "error")).toEqual([line("Error: x")]);
});
