import { expect, test } from "vitest";
import type { Device, Worker } from "../api/types";
import { newcomer, progressOf, STEPS } from "./arrival";

const worker = (more: Partial<Worker> = {}) =>
  ({ id: 2, state: "ready", tools: [], ...more }) as unknown as Worker;
const card = { kind: "ascend" } as Device;
const failed = { command: "npu-smi info", status: "fail", said: null, remedy: null } as const;

test("who was there before is no newcomer", () => {
  expect(newcomer([worker({ id: 1 })], new Set([1]))).toBeUndefined();
  expect(newcomer([worker({ id: 1 }), worker({ id: 3 })], new Set([1]))?.id).toBe(3);
});

test.each([
  ["nobody has come", undefined, [], ["waiting", "waiting", "waiting", "waiting"]],
  ["it has just joined", worker({ state: "joining" }), [], ["done", "waiting", "waiting", "waiting"]],
  ["all is well", worker(), [card], ["done", "done", "done", "done"]],
  ["it has no accelerator", worker(), [], ["done", "done", "done", "done"]],
  ["a tool fails", worker({ tools: [failed] }), [], ["done", "failed", "done", "done"]],
] as [string, Worker | undefined, Device[], string[]][])("when %s", (_, arrived, devices, expected) => {
  expect(STEPS.map((step) => progressOf(step, arrived, devices))).toEqual(expected);
});
