import { expect, test } from "vitest";
import type { Instance, Model } from "../api/types";
import { bestAvailable, memoryOf, narrowed, rowsOf } from "./fleet";

const GIB = 1024 ** 3;

function model(name: string, given: Partial<Model> = {}): Model {
  return {
    id: 1,
    name,
    source: `none:${name}`,
    backend: null,
    state: "ready",
    ready_replicas: 1,
    ...given,
  } as Model;
}

function instance(model: string, given: Partial<Instance> = {}): Instance {
  return {
    id: 1,
    model,
    state: "ready",
    worker: "w1",
    devices: [],
    backend: "vllm",
    claim: null,
    holds_claim: true,
    measured: null,
    reasons: [],
    ...given,
  } as Instance;
}

const claim = { device_count: 2, bytes_per_device: 10 * GIB, ram_bytes: GIB };

test("rows are found by group of states, engine, worker and text", () => {
  const rows = () =>
    rowsOf(
      [model("a"), model("b", { state: "failed", backend: "echo" }), model("c", { state: "pending" })],
      [instance("a"), instance("c", { worker: "w2", backend: null })],
      null,
    );
  const names = (search: Parameters<typeof narrowed>[1]) =>
    narrowed(rows(), search).map(({ model: { name } }) => name);
  expect(names({})).toEqual(["a", "b", "c"]);
  expect(names({ state: "broken" })).toEqual(["b"]);
  expect(names({ backend: "vllm" })).toEqual(["a"]);
  expect(names({ worker: "w2" })).toEqual(["c"]);
  expect(names({ q: "NONE:B" })).toEqual(["b"]);
  expect(names({ sort: "state" })).toEqual(["b", "c", "a"]);
  expect(names({ sort: "name", desc: true })).toEqual(["c", "b", "a"]);
});

test("memory is claimed by what holds a claim, and used as far as it was measured", () => {
  const measured = { bytes_per_device: 8 * GIB, ram_bytes: GIB } as NonNullable<Instance["measured"]>;
  expect(
    memoryOf([instance("a", { claim, measured }), instance("a", { claim, holds_claim: false })]),
  ).toEqual({
    claimed: 20 * GIB,
    used: 16 * GIB,
  });
  expect(memoryOf([instance("a", { claim })])).toEqual({ claimed: 20 * GIB, used: null });
  expect(memoryOf([instance("a")])).toEqual({ claimed: null, used: null });
});

test("a model without a request in the span has none, and nobody knows before the answer", () => {
  const traffic = new Map([["a", { requests: 2, completion_tokens: 9 }]]);
  const rows = rowsOf([model("a"), model("b")], [], traffic);
  expect(rows.map((row) => row.traffic?.requests)).toEqual([2, 0]);
  expect(rowsOf([model("a")], [], null)[0]?.traffic).toBeNull();
});

test("of the reasons that speak of amounts, the one with the most room is shown", () => {
  const reason = (worker: string, free: number | null) => ({
    worker,
    check: "memory",
    code: "c",
    message: "m",
    needed_bytes: 40,
    free_bytes: free,
  });
  const waits = instance("a", {
    state: "pending",
    reasons: [reason("w1", 10), reason("w2", 30), reason("w3", null)],
  });
  expect(bestAvailable([waits])?.worker).toBe("w2");
  expect(bestAvailable([instance("a")])).toBeNull();
});
