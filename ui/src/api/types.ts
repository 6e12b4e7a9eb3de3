// The shapes of the management API that the console reads (docs/api.md). Null means unknown, never zero.

import type { Entry } from "../live/listing";

export type ModelState =
  | "ready"
  | "partly_ready"
  | "pending"
  | "starting"
  | "stopped"
  | "sleeping"
  | "failed";
export type InstanceState =
  | "pending"
  | "scheduled"
  | "preparing"
  | "starting"
  | "ready"
  | "unhealthy"
  | "failed"
  | "lost"
  | "stopping";
export type WorkerState = "joining" | "ready" | "silent";
export type Health = "ok" | "warning" | "alarm" | "critical" | "unknown";
export type AnyState = ModelState | InstanceState | WorkerState;

export interface Model extends Entry {
  name: string;
  source: string;
  backend: string | null;
  backend_version: string | null;
  replicas: number;
  ready_replicas: number;
  state: ModelState;
  state_message: string | null;
  generation: number;
}

export interface Progress {
  phase: "engine" | "weights" | "load";
  bytes_done: number | null;
  bytes_total: number | null;
  fraction: number | null;
}

export interface Reason {
  worker: string | null;
  check: string;
  code: string;
  message: string;
  needed_bytes: number | null;
  free_bytes: number | null;
}

export interface Remedy {
  code: string;
  message: string;
  change: Record<string, unknown>;
}

export interface Instance extends Entry {
  model: string;
  state: InstanceState;
  state_message: string | null;
  worker: string | null;
  devices: string[];
  backend: string | null;
  backend_version: string | null;
  pid: number | null;
  port: number | null;
  attempt: number;
  attempts: number[];
  gave_up: boolean;
  next_try_at: string | null;
  progress: Progress | null;
  holds_claim: boolean;
  claim: { device_count: number; bytes_per_device: number; ram_bytes: number } | null;
  context_length: number | null;
  simulated: boolean;
  reasons: Reason[];
  remedies: Remedy[];
  state_since: string;
  created_at: string;
}

export interface Worker extends Entry {
  name: string;
  state: WorkerState;
  labels: Record<string, string>;
  hostname: string;
  version: string;
  cpu_count: number | null;
  ram_total_bytes: number | null;
  ram_used_bytes: number | null;
  ram_own_bytes: number | null;
  ram_reserve_bytes: number | null;
  simulated: boolean;
  seen_at: string | null;
}

export interface Device extends Entry {
  worker: string;
  index: number;
  kind: string;
  chip: string;
  memory_total_bytes: number | null;
  memory_used_bytes: number | null;
  memory_claimed_bytes: number | null;
  foreign_bytes: number | null;
  health: Health;
  schedulable: boolean;
  utilization: number | null;
  temperature_c: number | null;
  power_w: number | null;
  simulated: boolean;
}

export interface PlatformEvent extends Entry {
  at: string;
  kind: string;
  model: string | null;
  instance_id: number | null;
  worker: string | null;
  from_state: InstanceState | null;
  to_state: InstanceState | null;
  code: string | null;
  params: Record<string, string | number | boolean | null>;
  message: string | null;
}

export interface Me {
  username: string;
  role: string;
  must_change_password: boolean;
  csrf_token: string | null;
}

export interface LoggedIn {
  token: string;
  expires_at: string;
  csrf_token: string;
  must_change_password: boolean;
}

export interface Page<T> {
  items: T[];
  next_cursor: string | null;
  total: number;
  revision: number;
}
