import { expect, test } from "vitest";
import { baseOf } from "./base";

test.each([
  ["http://host:9090/assets/index-abc.js", ""],
  ["https://host/ai/assets/index-abc.js", "/ai"],
  ["https://host/tools/ai/assets/index-abc.js", "/tools/ai"],
  ["http://localhost:5173/src/base.ts?t=1", ""],
  ["file:///home/somebody/ui/src/base.ts", ""],
])("%s is shown below %j", (file, base) => {
  expect(baseOf(file)).toBe(base);
});
