// How far a worker that was asked to join has come; pure.

import type { Device, ToolReport, Worker } from "../api/types";

export const STEPS = ["contact", "tools", "devices", "ready"] as const;
export type Step = (typeof STEPS)[number];
export type Progress = "waiting" | "done" | "failed";

/** A new one is whichever was not there when the line was made. */
export function newcomer(workers: Worker[], known: ReadonlySet<number>): Worker | undefined {
  return workers.filter(({ id }) => !known.has(id)).sort((a, b) => b.id - a.id)[0];
}

export function failedTool(worker: Worker | undefined): ToolReport | undefined {
  return worker?.tools.find(({ status }) => status === "fail");
}

export function progressOf(step: Step, worker: Worker | undefined, devices: Device[]): Progress {
  if (worker === undefined) return "waiting";
  if (step === "contact") return "done";
  if (step === "tools" && failedTool(worker) !== undefined) return "failed";
  if (step === "tools" || step === "ready") return worker.state === "ready" ? "done" : "waiting";
  return devices.length > 0 || worker.state === "ready" ? "done" : "waiting";
}
