// The deployments as rows: found, narrowed, sorted; pure.

import type { Instance, Model, Reason } from "../api/types";
import type { Group, ModelsSearch, Sort } from "./search";
import { places } from "./story";

export interface Traffic {
  requests: number;
  completion_tokens: number;
}

export interface DeploymentRow {
  model: Model;
  instances: Instance[];
  backend: string | null;
  /** Bytes of devices, or of memory where it has none; null while nothing is placed. */
  claimed: number | null;
  used: number | null;
  traffic: Traffic | null;
}

const GROUP_OF: Record<Model["state"], Group> = {
  ready: "running",
  partly_ready: "running",
  pending: "waiting",
  starting: "waiting",
  failed: "broken",
  stopped: "off",
  sleeping: "off",
};
/** What needs somebody comes first. */
const URGENCY: Model["state"][] = [
  "failed",
  "pending",
  "partly_ready",
  "starting",
  "ready",
  "sleeping",
  "stopped",
];

export function rowsOf(
  models: Model[],
  instances: Instance[],
  traffic: Map<string, Traffic> | null,
): DeploymentRow[] {
  const byModel = new Map<string, Instance[]>();
  for (const each of instances) byModel.set(each.model, [...(byModel.get(each.model) ?? []), each]);
  return models.map((model) => {
    const mine = (byModel.get(model.name) ?? []).sort((a, b) => a.id - b.id);
    return {
      model,
      instances: mine,
      backend: model.backend ?? mine.find((each) => each.backend !== null)?.backend ?? null,
      ...memoryOf(mine),
      traffic: traffic === null ? null : (traffic.get(model.name) ?? { requests: 0, completion_tokens: 0 }),
    };
  });
}

/** `used` is what the engines were measured to hold, once they had loaded. */
export function memoryOf(instances: Instance[]): { claimed: number | null; used: number | null } {
  const holding = instances.filter(({ claim, holds_claim }) => claim !== null && holds_claim);
  if (holding.length === 0) return { claimed: null, used: null };
  const claimed = holding.reduce((all, { claim }) => all + claimedBy(claim), 0);
  const measured = holding.map(measuredOf).filter((each) => each !== null);
  return { claimed, used: measured.length === 0 ? null : measured.reduce((all, each) => all + each, 0) };
}

function claimedBy(claim: Instance["claim"]): number {
  if (claim === null) return 0;
  return claim.device_count > 0 ? claim.device_count * claim.bytes_per_device : claim.ram_bytes;
}

function measuredOf({ measured, claim }: Instance): number | null {
  if (measured == null || claim === null) return null;
  const { bytes_per_device, ram_bytes } = measured;
  if (claim.device_count === 0) return ram_bytes;
  return bytes_per_device === null ? null : bytes_per_device * claim.device_count;
}

export function narrowed(rows: DeploymentRow[], search: ModelsSearch): DeploymentRow[] {
  const sought = (search.q ?? "").toLowerCase();
  const kept = rows.filter(
    ({ model, instances, backend }) =>
      (search.state === undefined || GROUP_OF[model.state] === search.state) &&
      (search.backend === undefined || backend === search.backend) &&
      (search.worker === undefined || instances.some(({ worker }) => worker === search.worker)) &&
      `${model.name} ${model.source} ${places(instances).join(" ")}`.toLowerCase().includes(sought),
  );
  const measure = MEASURES[search.sort ?? "name"];
  const sign = search.desc ? -1 : 1;
  return kept.sort((a, b) => sign * measure(a, b) || a.model.name.localeCompare(b.model.name));
}

const MEASURES: Record<Sort, (a: DeploymentRow, b: DeploymentRow) => number> = {
  name: (a, b) => a.model.name.localeCompare(b.model.name),
  state: (a, b) => URGENCY.indexOf(a.model.state) - URGENCY.indexOf(b.model.state),
  ready: (a, b) => a.model.ready_replicas - b.model.ready_replicas,
  claimed: (a, b) => (a.claimed ?? 0) - (b.claimed ?? 0),
  traffic: (a, b) => (a.traffic?.completion_tokens ?? 0) - (b.traffic?.completion_tokens ?? 0),
};

/** Where the most is free of what is missing; null where no reason speaks of an amount. */
export function bestAvailable(instances: Instance[]): Reason | null {
  const waiting = instances.find(({ state, reasons }) => state === "pending" && reasons.length > 0);
  const counted = (waiting?.reasons ?? []).filter(
    ({ needed_bytes, free_bytes }) => needed_bytes !== null && free_bytes !== null,
  );
  return counted.reduce<Reason | null>(
    (best, each) => (best === null || (each.free_bytes ?? 0) > (best.free_bytes ?? 0) ? each : best),
    null,
  );
}
