import { expect, test } from "vitest";
import type { Device, Worker } from "../api/types";
import { byChip, cellOf, fleet, troubleOf } from "./fleet";

const GIB = 2 ** 30;

function device(worker: string, index: number, more: Partial<Device> = {}): Device {
  return {
    ...({ id: index, kind: "ascend", chip: "910B3", health: "ok", schedulable: true } as Device),
    ...{
      worker,
      index,
      memory_total_bytes: 64 * GIB,
      memory_used_bytes: 16 * GIB,
      memory_claimed_bytes: 32 * GIB,
    },
    ...{ temperature_c: 45, utilization: 80, isolated: null, cordoned: false },
    ...more,
  };
}

function worker(name: string, labels: Record<string, string> = {}): Worker {
  return { name, labels, hostname: name, state: "ready" } as unknown as Worker;
}

test.each([
  ["used", 0.25, "25"],
  ["claimed", 0.5, "50"],
  ["temperature", 0.45, "45°"],
  ["load", 0.8, "80"],
] as const)("%s is shown as a fraction and a figure", (quantity, fraction, text) => {
  expect(cellOf(device("a", 0), quantity)).toMatchObject({ fraction, text });
});

test("what nobody knows is no zero", () => {
  expect(cellOf(device("a", 0, { memory_used_bytes: null }), "used")).toMatchObject({
    fraction: null,
    text: "–",
  });
});

test("workers stand in the order of their numbers, devices in that of their index; the CPU is none", () => {
  const devices = [device("w10", 1), device("w10", 0), device("w2", 0), device("w2", 9, { kind: "cpu" })];
  const rows = fleet([worker("w10"), worker("w2")], devices, "used");
  expect(rows.map((row) => [row.worker.name, row.cells.map((cell) => cell.device.index)])).toEqual([
    ["w2", [0]],
    ["w10", [0, 1]],
  ]);
});

test.each([
  ["", 2],
  ["rack=b", 1],
  ["910b3", 1],
  ["910b3 rack=b", 0],
  ["W", 2],
])("%j is found in %i workers", (sought, count) => {
  const workers = [worker("w1", { rack: "a" }), worker("w2", { rack: "b" })];
  expect(fleet(workers, [device("w1", 0)], "used", sought)).toHaveLength(count);
});

test.each([
  [{}, null],
  [{ health: "critical" }, "unhealthy"],
  [{ health: "critical", cordoned: true }, "cordoned"],
  [{ isolated: { code: "x" }, cordoned: true }, "isolated"],
  [{ schedulable: false }, "notSchedulable"],
] as [Partial<Device>, string | null][])("%j is kept out as %s", (more, trouble) => {
  expect(troubleOf(device("a", 0, more))).toBe(trouble);
});

test("capacity is summed by chip, the largest first", () => {
  const sums = byChip([
    device("a", 0, { chip: "310P3", memory_total_bytes: GIB }),
    device("a", 1),
    device("a", 2),
  ]);
  expect(sums.map(({ chip, devices, claimed }) => [chip, devices, claimed / GIB])).toEqual([
    ["910B3", 2, 64],
    ["310P3", 1, 32],
  ]);
});
