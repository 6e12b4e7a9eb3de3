import { expect, test } from "vitest";
import { en } from "./en";
import { firstLanguage } from "./index";
import { zh } from "./zh";

type Tree = { [key: string]: string | Tree };

function flat(tree: Tree, path = ""): [string, string][] {
  return Object.entries(tree).flatMap(([key, value]): [string, string][] =>
    typeof value === "string" ? [[`${path}${key}`, value]] : flat(value, `${path}${key}.`),
  );
}

const placeholders = (text: string) => [...text.matchAll(/\{\{\w+\}\}/g)].map(([found]) => found).sort();

test("both languages say the same things", () => {
  expect(flat(zh).map(([key]) => key)).toEqual(flat(en).map(([key]) => key));
});

test("both languages fill in the same values", () => {
  const filled = (tree: Tree) => flat(tree).map(([key, text]) => [key, placeholders(text)]);
  expect(filled(zh)).toEqual(filled(en));
});

test("no sentence is empty", () => {
  expect([...flat(en), ...flat(zh)].filter(([, text]) => text.trim() === "")).toEqual([]);
});

test("no sentence was left in English", () => {
  const same = new Map(flat(en));
  const untranslated = flat(zh).filter(([key, text]) => same.get(key) === text && /[a-z]{3}/.test(text));
  expect(untranslated).toEqual([]);
});

test.each([
  ["en", "zh-CN", "en"],
  ["zh-CN", "en-GB", "zh-CN"],
  [null, "zh-TW", "zh-CN"],
  [null, "ZH", "zh-CN"],
  [null, "de-DE", "en"],
  ["klingon", "en-US", "en"],
])("stored %s in a %s browser reads %s", (stored, browser, shown) => {
  expect(firstLanguage(stored, browser)).toBe(shown);
});
