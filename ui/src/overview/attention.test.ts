import { describe, expect, it } from "vitest";
import type { Device, Instance, Model, ModelFiles, Worker } from "../api/types";
import { attention, isGrave, type Known } from "./attention";

const NOTHING: Known = { models: [], instances: [], workers: [], devices: [], files: [] };
const model = (given: Partial<Model>) =>
  ({ id: 1, name: "qwen", state: "ready", state_message: null, ...given }) as Model;
const instance = (given: Partial<Instance>) =>
  ({
    id: 1,
    model: "qwen",
    state: "ready",
    state_message: null,
    worker: "w1",
    remedies: [],
    ...given,
  }) as Instance;
const worker = (given: Partial<Worker>) =>
  ({ id: 1, name: "w1", state: "ready", tools: [], ...given }) as unknown as Worker;
const device = (given: Partial<Device>) =>
  ({
    id: 1,
    worker: "w1",
    index: 3,
    kind: "ascend",
    health: "ok",
    schedulable: true,
    cordoned: false,
    isolated: null,
    fault: null,
    error_codes: [],
    ...given,
  }) as unknown as Device;

describe("what needs attention", () => {
  it("is nothing where all is well, stopped or on its way", () => {
    const known = {
      ...NOTHING,
      models: [
        model({}),
        model({ id: 2, name: "new", state: "starting" }),
        model({ id: 3, state: "stopped" }),
      ],
      instances: [instance({}), instance({ id: 2, model: "new", state: "starting" })],
      workers: [worker({})],
      devices: [device({}), device({ id: 2, cordoned: true })],
    };
    expect(attention(known)).toEqual([]);
  });

  it("tells of a model once, by its worst instance, with the reason and the nearest remedy", () => {
    const remedies = [{ code: "shorter_context", message: "Ask for 8192 tokens.", change: {} }];
    const known = {
      ...NOTHING,
      models: [model({ state: "partly_ready" })],
      instances: [
        instance({ id: 2, state: "pending", state_message: "needs two cards", remedies }),
        instance({ id: 3, state: "failed", state_message: "out of memory", remedies: [] }),
        instance({ id: 4, state: "pending" }),
      ],
    };
    const [matter, ...more] = attention(known);
    expect(more).toEqual([]);
    expect(matter).toMatchObject({ word: "failed", sentence: "out of memory", remedy: null });
    const waiting = attention({ ...known, instances: known.instances.slice(0, 1) });
    expect(waiting).toMatchObject([
      { word: "notPlaced", sentence: "needs two cards", remedy: "Ask for 8192 tokens." },
    ]);
  });

  it("puts what is broken before what waits", () => {
    const matters = attention({
      ...NOTHING,
      models: [model({ name: "a", state: "pending" })],
      instances: [instance({ model: "a", state: "pending" })],
      workers: [worker({ name: "z", state: "silent" })],
      devices: [device({ isolated: { message: "HBM ECC, code 0x80E01801" } })],
      files: [
        {
          id: 1,
          source: "huggingface:a/b",
          worker: "w1",
          state: "failed",
          state_message: "no disk",
        } as ModelFiles,
      ],
    });
    expect(matters.map(({ kind }) => kind)).toEqual(["files", "device", "worker", "model"]);
    expect(matters.map(isGrave)).toEqual([true, true, true, false]);
    expect(matters[1]?.sentence).toBe("HBM ECC, code 0x80E01801");
  });

  it("repeats what a tool said and what to do about it", () => {
    const tool = {
      command: "npu-smi info",
      status: "fail" as const,
      said: { code: "x", params: {}, message: "npu-smi did not answer" },
      remedy: { code: "y", params: {}, message: "load the driver" },
    };
    expect(attention({ ...NOTHING, workers: [worker({ tools: [tool] })] })).toMatchObject([
      { word: "toolFailed", sentence: "npu-smi did not answer", remedy: "load the driver" },
    ]);
  });
});
