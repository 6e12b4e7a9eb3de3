// The shapes of the management API that the console reads (docs/api.md). Null means unknown, never zero.

import type { Entry } from "../live/listing";
import type { components } from "./schema.gen";

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

export type Model = Omit<Schemas["ModelShape"], "state"> & { state: ModelState };

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
  /** What its processes were seen to hold; nothing before they had loaded. */
  measured?: { bytes_per_device: number | null; ram_bytes: number | null } | null;
  context_length: number | null;
  simulated: boolean;
  reasons: Reason[];
  remedies: Remedy[];
  state_since: string;
  created_at: string;
}

type Schemas = components["schemas"];

export interface ToolReport {
  command: string;
  status: "pass" | "warn" | "fail";
  said: Sentence | null;
  remedy: Sentence | null;
}

export interface Sentence {
  code: string;
  params: Record<string, unknown>;
  message?: string;
}

export type HostFacts = Partial<Record<HostFact, string | null>>;
export type HostFact =
  | "os"
  | "arch"
  | "libc"
  | "container"
  | "driver"
  | "firmware"
  | "cann"
  | "nvidia_driver"
  | "cuda";

export type Worker = Omit<Schemas["WorkerShape"], "state" | "tools" | "host"> & {
  state: WorkerState;
  tools: ToolReport[];
  host: HostFacts;
};

export interface DeviceProcess {
  pid: number;
  name?: string | null;
  memory_bytes?: number | null;
  own?: boolean;
}

export type Device = Omit<Schemas["DeviceShape"], "health"> & { health: Health };
export type ModelFiles = Schemas["FilesShape"];
export type Backend = Schemas["BackendShape"];
export type Build = Schemas["EngineVersionShape"];
export type JoinToken = Schemas["JoinTokenShape"];

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
