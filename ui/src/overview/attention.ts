// What needs somebody, the worst first, each with its reason and what to do; pure.

import type { Device, Instance, Model, ModelFiles, Worker } from "../api/types";
import type { Shape, Tone } from "../parts/StateMark";
import { type Trouble, troubleOf } from "../workers/fleet";

export type Kind = "model" | "worker" | "device" | "files";
export type Word =
  | "failed"
  | "notPlaced"
  | "notReady"
  | "unhealthy"
  | "silent"
  | "toolFailed"
  | "download"
  | Trouble;

export interface Matter {
  id: string;
  kind: Kind;
  word: Word;
  /** Of what it is told, and where its page is. */
  name: string;
  worker: string | null;
  sentence: string | null;
  remedy: string | null;
}

export interface Known {
  models: Model[];
  instances: Instance[];
  workers: Worker[];
  devices: Device[];
  files: ModelFiles[];
}

const GRAVE: ReadonlySet<Word> = new Set(["failed", "unhealthy", "silent", "isolated", "download"]);
const LOOK: Record<"grave" | "waits", [Shape, Tone]> = {
  grave: ["warning", "bad"],
  waits: ["dashed", "wait"],
};

export const isGrave = ({ word }: Matter): boolean => GRAVE.has(word);
export const lookOf = (matter: Matter): [Shape, Tone] => LOOK[isGrave(matter) ? "grave" : "waits"];

export function attention(known: Known): Matter[] {
  const found = [
    ...known.models.flatMap((model) => ofModel(model, known.instances)),
    ...known.workers.flatMap(ofWorker),
    ...known.devices.flatMap(ofDevice),
    ...known.files.flatMap(ofFiles),
  ];
  return found.sort(
    (a, b) =>
      Number(isGrave(b)) - Number(isGrave(a)) || a.name.localeCompare(b.name, "en", { numeric: true }),
  );
}

const TROUBLED: Partial<Record<Instance["state"], Word>> = {
  failed: "failed",
  lost: "failed",
  unhealthy: "unhealthy",
  pending: "notPlaced",
};

/** One matter a model, that of its worst instance: eight replicas that wait for the same card are one thing to do. */
function ofModel(model: Model, instances: Instance[]): Matter[] {
  const order: Word[] = ["failed", "unhealthy", "notPlaced"];
  const troubled = instances
    .flatMap((each) => {
      const word = each.model === model.name ? TROUBLED[each.state] : undefined;
      return word === undefined ? [] : [{ each, word }];
    })
    .sort((a, b) => order.indexOf(a.word) - order.indexOf(b.word) || a.each.id - b.each.id);
  const worst = troubled[0];
  if (worst === undefined && model.state !== "failed") return [];
  const sentence = worst?.each.state_message ?? model.state_message;
  return [
    {
      id: `model-${model.id}`,
      kind: "model",
      word: worst?.word ?? "failed",
      name: model.name,
      worker: worst?.each.worker ?? null,
      sentence,
      remedy: worst?.each.remedies[0]?.message ?? null,
    },
  ];
}

function ofWorker(worker: Worker): Matter[] {
  const about = { kind: "worker" as const, name: worker.name, worker: worker.name };
  if (worker.state === "silent") {
    return [{ ...about, id: `worker-${worker.id}`, word: "silent", sentence: null, remedy: null }];
  }
  return worker.tools
    .filter(({ status }) => status === "fail")
    .map((tool) => ({
      ...about,
      id: `worker-${worker.id}-${tool.command}`,
      word: "toolFailed" as const,
      sentence: tool.said?.message ?? tool.command,
      remedy: tool.remedy?.message ?? null,
    }));
}

/** A cordon is somebody's decision, and no matter for anybody else. */
function ofDevice(device: Device): Matter[] {
  const word = troubleOf(device);
  if (word === null || word === "cordoned" || device.kind === "cpu") return [];
  const told = (device.isolated ?? device.fault) as { message?: string; remedy?: string } | null;
  return [
    {
      id: `device-${device.id}`,
      kind: "device",
      word,
      name: `${device.worker}:${device.index}`,
      worker: device.worker,
      sentence: told?.message ?? (device.error_codes.join(", ") || null),
      remedy: told?.remedy ?? null,
    },
  ];
}

function ofFiles(files: ModelFiles): Matter[] {
  if (files.state !== "failed") return [];
  const about = { kind: "files" as const, name: files.source, worker: files.worker };
  return [
    { ...about, id: `files-${files.id}`, word: "download", sentence: files.state_message, remedy: null },
  ];
}
