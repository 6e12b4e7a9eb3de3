import { expect, test } from "vitest";
import { messageReader } from "./sse";

const STREAM = 'event: hello\nid: 7\ndata: {"revision": 7}\n\n: alive\n\nid: 8\ndata: {"kind":"model"}\n\n';
const MESSAGES = [
  { event: "hello", id: "7", data: '{"revision": 7}' },
  { event: "message", id: "8", data: '{"kind":"model"}' },
];

test.each([1, 2, 5, 13, 1000])("a stream cut into pieces of %i characters says the same", (size) => {
  const read = messageReader();
  const pieces = STREAM.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];
  expect(pieces.flatMap(read)).toEqual(MESSAGES);
});

test("a comment is not a message", () => {
  expect(messageReader()(": alive\n\n")).toEqual([]);
});

test("lines of data are joined", () => {
  expect(messageReader()("data: a\ndata:b\n\n")).toEqual([{ event: "message", id: "", data: "a\nb" }]);
});

test("an unfinished message waits", () => {
  const read = messageReader();
  expect(read("id: 1\ndata: x\n")).toEqual([]);
  expect(read("\n")).toEqual([{ event: "message", id: "1", data: "x" }]);
});

test("carriage returns are line ends", () => {
  expect(messageReader()("id: 1\r\ndata: x\r\n\r\n")).toEqual([{ event: "message", id: "1", data: "x" }]);
});
