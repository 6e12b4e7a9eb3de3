import { expect, test } from "vitest";
import type { Instance, InstanceState, PlatformEvent, Progress, Reason } from "../api/types";
import { arriving, instancesOf, obstacles, placedOn, places, timelineOf } from "./story";

const PROGRESS: Progress = { phase: "load", bytes_done: 1, bytes_total: 2, fraction: null };

function instance(id: number, state: InstanceState, more: Partial<Instance> = {}): Instance {
  return {
    id,
    model: "m",
    state,
    worker: "w1",
    devices: [],
    progress: null,
    reasons: [],
    remedies: [],
    ...more,
  } as Instance;
}

function moved(id: number, instance_id: number, to_state: InstanceState, second: number): PlatformEvent {
  const at = new Date(second * 1000).toISOString();
  return {
    id,
    instance_id,
    to_state,
    at,
    worker: second === 0 ? null : "w1",
    message: null,
  } as PlatformEvent;
}

test("the newest instance that is on its way shows its progress", () => {
  const instances = [
    instance(1, "ready", { progress: PROGRESS }),
    instance(2, "starting", { progress: PROGRESS }),
    instance(3, "preparing", { progress: PROGRESS }),
    instance(4, "pending"),
  ];
  expect(arriving(instances)?.id).toBe(3);
});

test("an instance that ends shows no progress", () => {
  expect(arriving([instance(1, "stopping", { progress: PROGRESS })])).toBeUndefined();
});

test("places are devices, or the worker where there are none, each once", () => {
  const instances = [
    instance(1, "ready", { devices: ["w1:0", "w1:1"] }),
    instance(2, "ready"),
    instance(3, "ready"),
  ];
  expect(places([...instances, instance(4, "pending", { worker: null })])).toEqual(["w1:0", "w1:1", "w1"]);
});

test("only pending instances have obstacles", () => {
  const reasons = [{ worker: "w1", message: "too small" } as Reason];
  expect(obstacles([instance(1, "ready", { reasons })])).toBeNull();
  expect(obstacles([instance(1, "ready"), instance(2, "pending", { reasons })])?.reasons).toEqual(reasons);
});

test("instances are those of the model, by age", () => {
  const listing = {
    revision: 1,
    items: [instance(3, "ready"), instance(2, "ready", { model: "n" }), instance(1, "ready")],
  };
  expect(instancesOf({ name: "m" } as never, listing).map(({ id }) => id)).toEqual([1, 3]);
});

test("the timeline tells how long each state of the newest instance lasted", () => {
  const events = [
    moved(9, 2, "ready", 12),
    moved(7, 2, "scheduled", 1),
    moved(8, 2, "starting", 4),
    moved(6, 2, "pending", 0),
    moved(1, 1, "ready", 0),
  ];
  const timeline = timelineOf(events);
  expect(timeline?.instance).toBe(2);
  expect(timeline?.steps.map(({ state, seconds }) => [state, seconds])).toEqual([
    ["pending", 1],
    ["scheduled", 3],
    ["starting", 8],
    ["ready", null],
  ]);
  expect(timeline?.readySeconds).toBe(12);
  expect(timeline?.worker).toBe("w1");
});

test("clocks that run backwards do not make negative durations", () => {
  expect(timelineOf([moved(1, 1, "starting", 10), moved(2, 1, "ready", 9)])?.readySeconds).toBe(0);
});

test("without moves there is no timeline", () => {
  expect(timelineOf([{ id: 1, kind: "model_created", to_state: null } as PlatformEvent])).toBeNull();
});

test.each([
  ["0,1", "w1:0, w1:1"],
  ["", "w1"],
])("a placement on devices %j of w1 reads %s", (devices, text) => {
  expect(placedOn({ worker: "w1", params: { devices } })).toBe(text);
});
