import { expect, test } from "vitest";
import { diffOf, shortened } from "./diff";

test("what stayed, went and came, in its place", () => {
  expect(diffOf("a: 1\nb: 2\nc: 3\n", "a: 1\nb: 5\nc: 3\nd: 4\n")).toEqual([
    { kind: "same", text: "a: 1" },
    { kind: "gone", text: "b: 2" },
    { kind: "new", text: "b: 5" },
    { kind: "same", text: "c: 3" },
    { kind: "new", text: "d: 4" },
  ]);
});

test("equal texts differ in nothing", () => {
  expect(diffOf("a\nb\n", "a\nb\n").every(({ kind }) => kind === "same")).toBe(true);
});

test("what is far from every change is left out, in one place each", () => {
  const many = Array.from({ length: 12 }, (_, at) => `line ${at}`);
  const told = shortened(diffOf([...many, "a", ...many].join("\n"), [...many, "b", ...many].join("\n")));
  expect(told.map(({ kind }) => kind)).toEqual([
    "skipped",
    ...["same", "same", "same", "gone", "new", "same", "same", "same"],
    "skipped",
  ]);
});
