// What the grid and the table of workers show of each device; pure.

import type { Device, Worker } from "../api/types";
import { bytes } from "../format";

export type Quantity = "used" | "claimed" | "temperature" | "load";
export const QUANTITIES: readonly Quantity[] = ["used", "claimed", "temperature", "load"];

/** Hotter than this and a card throttles; colours end there. */
const HOT_C = 100;

export interface Cell {
  device: Device;
  /** 0 to 1, or null where nobody knows. */
  fraction: number | null;
  text: string;
}

export interface FleetRow {
  worker: Worker;
  cells: Cell[];
}

export function fleet(workers: Worker[], devices: Device[], quantity: Quantity, sought = ""): FleetRow[] {
  const of = new Map<string, Device[]>();
  for (const device of devices) {
    if (device.kind === "cpu") continue;
    const mine = of.get(device.worker);
    if (mine === undefined) of.set(device.worker, [device]);
    else mine.push(device);
  }
  return workers
    .map((worker) => ({ worker, devices: (of.get(worker.name) ?? []).sort((a, b) => a.index - b.index) }))
    .filter((row) => matches(row, sought))
    .sort((a, b) => a.worker.name.localeCompare(b.worker.name, "en", { numeric: true }))
    .map((row) => ({ worker: row.worker, cells: row.devices.map((device) => cellOf(device, quantity)) }));
}

export function cellOf(device: Device, quantity: Quantity): Cell {
  const fraction = fractionOf(device, quantity);
  return { device, fraction, text: textOf(device, quantity, fraction) };
}

function fractionOf(device: Device, quantity: Quantity): number | null {
  const { memory_total_bytes: total } = device;
  if (quantity === "temperature") return device.temperature_c === null ? null : device.temperature_c / HOT_C;
  if (quantity === "load") return device.utilization === null ? null : device.utilization / 100;
  const part = quantity === "used" ? device.memory_used_bytes : device.memory_claimed_bytes;
  return total === null || total <= 0 || part === null ? null : Math.min(1, part / total);
}

function textOf(device: Device, quantity: Quantity, fraction: number | null): string {
  if (fraction === null) return "–";
  return quantity === "temperature"
    ? `${Math.round(device.temperature_c ?? 0)}°`
    : `${Math.round(100 * fraction)}`;
}

/** Words are looked for in names, labels, chips and states: all of them must be there. */
function matches({ worker, devices }: { worker: Worker; devices: Device[] }, sought: string): boolean {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const labels = Object.entries(worker.labels).map(([key, value]) => `${key}=${value}`);
  const told = [worker.name, worker.hostname, worker.state, ...labels, ...devices.map(({ chip }) => chip)];
  const text = told.join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Why a device gets nothing new, nearest cause first; null where it does. */
export type Trouble = "isolated" | "cordoned" | "unhealthy" | "notSchedulable";

export function troubleOf(device: Device): Trouble | null {
  if (device.isolated !== null) return "isolated";
  if (device.cordoned) return "cordoned";
  if (device.health !== "ok" && device.health !== "unknown") return "unhealthy";
  return device.schedulable ? null : "notSchedulable";
}

export interface ChipSum {
  chip: string;
  devices: number;
  total: number;
  claimed: number;
  used: number;
}

/** Capacity of the fleet by chip, the most first. */
export function byChip(devices: Device[]): ChipSum[] {
  const sums = new Map<string, ChipSum>();
  for (const device of devices) {
    if (device.kind === "cpu") continue;
    const sum = sums.get(device.chip) ?? { chip: device.chip, devices: 0, total: 0, claimed: 0, used: 0 };
    sum.devices += 1;
    sum.total += device.memory_total_bytes ?? 0;
    sum.claimed += device.memory_claimed_bytes;
    sum.used += device.memory_used_bytes ?? 0;
    sums.set(device.chip, sum);
  }
  return [...sums.values()].sort((a, b) => b.total - a.total || a.chip.localeCompare(b.chip));
}

export function memoryWords(device: Device): string {
  const { memory_used_bytes: used, memory_total_bytes: total } = device;
  if (total === null) return "–";
  return `${used === null ? "–" : bytes(used)} / ${bytes(total)}`;
}
