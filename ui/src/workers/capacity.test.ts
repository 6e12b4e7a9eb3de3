import { expect, test } from "vitest";
import type { Device, Instance, Worker } from "../api/types";
import { devicesOf, ramClaimed } from "./capacity";

const w1 = { name: "w1" } as Worker;

test("a worker's memory is claimed by what may still have a process there", () => {
  const claim = { device_count: 0, bytes_per_device: 0, ram_bytes: 100 };
  const items = [
    { id: 1, worker: "w1", holds_claim: true, claim },
    { id: 2, worker: "w1", holds_claim: false, claim },
    { id: 3, worker: "w2", holds_claim: true, claim },
    { id: 4, worker: "w1", holds_claim: true, claim: null },
  ] as Instance[];
  expect(ramClaimed(w1, { revision: 1, items })).toBe(100);
});

test("the cards of a worker come by index, and its CPU is none of them", () => {
  const items = [
    { id: 1, worker: "w1", kind: "ascend", index: 1 },
    { id: 2, worker: "w1", kind: "ascend", index: 0 },
    { id: 3, worker: "w1", kind: "cpu", index: 0 },
    { id: 4, worker: "w2", kind: "ascend", index: 0 },
  ] as Device[];
  expect(devicesOf(w1, { revision: 1, items }).map(({ id }) => id)).toEqual([2, 1]);
});
