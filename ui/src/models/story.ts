// What to tell of a model and its instances; pure.

import type { Instance, InstanceState, Model, PlatformEvent, Reason, Remedy } from "../api/types";
import type { Listing } from "../live/listing";

const SETTLED: readonly InstanceState[] = ["ready", "stopping", "lost"];

export function byName(models: Listing<Model>): Model[] {
  return [...models.items].sort((a, b) => a.name.localeCompare(b.name));
}

export function instancesOf(model: Model, instances: Listing<Instance> | undefined): Instance[] {
  const mine = (instances?.items ?? []).filter((instance) => instance.model === model.name);
  return mine.sort((a, b) => a.id - b.id);
}

/** The instance whose progress bar stands for the model: the newest that is still on its way. */
export function arriving(instances: Instance[]): Instance | undefined {
  return instances.findLast(({ state, progress }) => progress !== null && !SETTLED.includes(state));
}

/** "w1:0", or the worker's name where an instance has no device of its own. */
export function places(instances: Instance[]): string[] {
  const all = instances.flatMap(({ devices, worker }) =>
    devices.length > 0 ? devices : worker === null ? [] : [worker],
  );
  return [...new Set(all)];
}

export interface Obstacles {
  reasons: Reason[];
  remedies: Remedy[];
}

/** Why the pending instances are not placed. Replicas of one model are refused alike, so the first one speaks. */
export function obstacles(instances: Instance[]): Obstacles | null {
  const waiting = instances.find(({ state, reasons }) => state === "pending" && reasons.length > 0);
  return waiting === undefined ? null : { reasons: waiting.reasons, remedies: waiting.remedies };
}

export interface Step {
  id: number;
  state: InstanceState;
  at: string;
  /** How long this state lasted; null while it lasts. */
  seconds: number | null;
  message: string | null;
  worker: string | null;
  /** Numbers of the move: what was claimed, which process it is. */
  params: PlatformEvent["params"];
}

export interface Timeline {
  instance: number;
  worker: string | null;
  steps: Step[];
  /** From the first step to the first READY; null until then. */
  readySeconds: number | null;
}

/** The moves of the newest instance that has any, oldest first. */
export function timelineOf(events: PlatformEvent[]): Timeline | null {
  const moves = events.filter(({ to_state }) => to_state !== null).sort((a, b) => a.id - b.id);
  const instance = moves.reduce((newest, { instance_id }) => Math.max(newest, instance_id ?? 0), 0);
  const mine = moves.filter(({ instance_id }) => instance_id === instance);
  if (instance === 0) return null;
  const steps = mine.map((move, index) => stepOf(move, mine[index + 1]));
  const ready = mine.find(({ to_state }) => to_state === "ready");
  return {
    instance,
    worker: mine.findLast(({ worker }) => worker !== null)?.worker ?? null,
    steps,
    readySeconds: ready === undefined ? null : secondsBetween(mine[0], ready),
  };
}

/** "w1:0, w1:1" from the indices that a placement's event holds, or the worker's name where it took no device. */
export function placedOn({ worker, params: { devices } }: Pick<Step, "worker" | "params">): string {
  const indices = typeof devices === "string" && devices !== "" ? devices.split(",") : [];
  return indices.length > 0 ? indices.map((index) => `${worker}:${index}`).join(", ") : (worker ?? "");
}

function stepOf(move: PlatformEvent, next: PlatformEvent | undefined): Step {
  return {
    id: move.id,
    state: move.to_state ?? "pending",
    at: move.at,
    seconds: next === undefined ? null : secondsBetween(move, next),
    // a move's numbers say more than the sentence that every move has
    message: move.code?.startsWith("event_") ? null : move.message,
    worker: move.worker,
    params: move.params,
  };
}

function secondsBetween(from: PlatformEvent | undefined, to: PlatformEvent): number {
  return from === undefined ? 0 : Math.max(0, Date.parse(to.at) - Date.parse(from.at)) / 1000;
}
