import { describe, expect, it } from "vitest";
import type { Model, Worker } from "../api/types";
import { entries, meant } from "./entries";

const models = ["qwen3-14b", "org/my-qwen", "deepseek-r1"].map((name, id) => ({ id, name })) as Model[];
const workers = [{ id: 1, name: "host-910b-1" }] as Worker[];
const same = (words: string) => words;
const texts = (typed: string, isAdmin = true) =>
  meant(entries(models, workers, isAdmin, same), typed).map(({ text }) => text);

describe("the palette", () => {
  it("shows pages and actions first where nothing is typed, and never more than a dozen", () => {
    expect(texts("")[0]).toBe("nav.overview");
    expect(texts("")).toHaveLength(12);
  });

  it("prefers beginnings to word beginnings to middles to scattered letters", () => {
    expect(texts("qwen")).toEqual(["qwen3-14b", "org/my-qwen"]);
    expect(texts("910b")).toEqual(["host-910b-1"]);
    expect(texts("dsr1")).toEqual(["deepseek-r1"]);
    expect(texts("no such thing")).toEqual([]);
  });

  it("offers nobody what is for administrators", () => {
    expect(texts("audit")).toEqual(["nav.audit"]);
    expect(texts("audit", false)).toEqual([]);
    expect(texts("deploy.open", false)).toEqual([]);
  });
});
