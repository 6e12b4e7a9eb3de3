// What of a worker is spoken for; pure.

import type { Device, Instance, Worker } from "../api/types";
import type { Listing } from "../live/listing";

/** The accelerators of a worker; its CPU is told by the memory bar of the worker itself. */
export function devicesOf(worker: Worker, devices: Listing<Device> | undefined): Device[] {
  const mine = (devices?.items ?? []).filter(
    (device) => device.worker === worker.name && device.kind !== "cpu",
  );
  return mine.sort((a, b) => a.index - b.index);
}

/** Placements are the allocation: what instances that may still have a process claim. */
export function ramClaimed(worker: Worker, instances: Listing<Instance> | undefined): number {
  const mine = (instances?.items ?? []).filter((each) => each.worker === worker.name && each.holds_claim);
  return mine.reduce((sum, { claim }) => sum + (claim?.ram_bytes ?? 0), 0);
}
