import { expect, test } from "vitest";
import { bytes, seconds } from "./format";

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1536, "1.5 KiB"],
  [64 * 1024 ** 3, "64 GiB"],
  [153.4 * 1024 ** 3, "153 GiB"],
  [5000 * 1024 ** 4, "5000 TiB"],
])("%d bytes read %s", (count, text) => {
  expect(bytes(count)).toBe(text);
});

test.each([
  [0.04, "0.0 s"],
  [7.46, "7.5 s"],
  [9.96, "10 s"],
  [59.4, "59 s"],
  [59.7, "1 min 0 s"],
  [75, "1 min 15 s"],
  [3700, "1 h 1 min"],
])("%d seconds read %s", (count, text) => {
  expect(seconds(count)).toBe(text);
});
