import { expect, test } from "vitest";
import { applyChange, type Change, type Entry, type Listing, settle } from "./listing";

interface Row extends Entry {
  state: string;
}

const row = (id: number, state = "old"): Row => ({ id, state });
const list = (revision: number, ...items: Row[]): Listing<Row> => ({ revision, items });
const put = (revision: number, document: Row): Change => ({
  revision,
  kind: "model",
  op: "put",
  id: document.id,
  document,
});
const gone = (revision: number, id: number): Change => ({
  revision,
  kind: "model",
  op: "delete",
  id,
  document: null,
});

test("a change replaces its row in place", () => {
  expect(applyChange(list(5, row(1), row(2), row(3)), put(6, row(2, "new")))).toEqual(
    list(6, row(1), row(2, "new"), row(3)),
  );
});

test("a row that was not known is added", () => {
  expect(applyChange(list(5, row(1)), put(6, row(9)))).toEqual(list(6, row(1), row(9)));
});

test("a deleted row leaves no ghost", () => {
  expect(applyChange(list(5, row(1), row(2)), gone(6, 1))).toEqual(list(6, row(2)));
});

test("deleting what is not there is no harm", () => {
  expect(applyChange(list(5, row(1)), gone(6, 7))).toEqual(list(6, row(1)));
});

test.each([4, 5])("change %i is already in a list of revision 5", (revision) => {
  const held = list(5, row(1, "newer"));
  expect(applyChange(held, put(revision, row(1, "older")))).toBe(held);
});

test("a late change does not bring back what was deleted after it", () => {
  const deleted = applyChange(list(5, row(1)), gone(7, 1));
  expect(applyChange(deleted, put(6, row(1)))).toEqual(list(7));
});

test("an answer is brought up to date with the changes that overtook it", () => {
  const since = [put(4, row(1, "older")), put(6, row(1, "newer")), gone(7, 2)];
  expect(settle(list(5, row(1), row(2)), undefined, since)).toEqual(list(7, row(1, "newer")));
});

test("an answer that is older than what is held changes nothing", () => {
  const held = list(8, row(1, "newer"));
  expect(settle(list(5, row(1), row(2)), held, [])).toEqual(held);
});

test("an answer of the same revision replaces what is held, as after a change of language", () => {
  expect(settle(list(5, row(1, "就绪")), list(5, row(1, "Ready")), [])).toEqual(list(5, row(1, "就绪")));
});
