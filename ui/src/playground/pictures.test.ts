import { expect, test } from "vitest";
import { fitting, LARGEST_BYTES, MOST_PICTURES } from "./pictures";

test.each([
  [4000, 3000, [1536, 1152]],
  [100, 5000, [31, 1536]],
  [640, 480, [640, 480]],
  [1, 9000, [1, 1536]],
])("%d x %d becomes %o", (width, height, size) => {
  expect(fitting(width, height, 1536)).toEqual(size);
});

test("as many pictures as are taken, as large as they may be, stay below the server's bound", () => {
  expect((MOST_PICTURES * LARGEST_BYTES * 4) / 3).toBeLessThan(4 * 1024 ** 2 - 64 * 1024);
});
