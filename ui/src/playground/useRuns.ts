// Answers under way: asked for, shown as they grow (at most sixteen times a second), stopped.

import { useEffect, useRef, useState } from "react";
import { usePlatform } from "../platform";
import { askAll, askOne, failureOf, type Tell } from "./asking";
import { begun, failed, over, type Run, told } from "./run";

const SHOWN_EVERY_MS = 60;
type Request = Record<string, unknown>;

export interface Runs {
  runs: Run[];
  isBusy: boolean;
  /** The answers when all have ended, one way or another. */
  ask: (models: string[], request: Request) => Promise<Run[]>;
  stop: () => void;
  forget: () => void;
}

export function useRuns(): Runs {
  const { api } = usePlatform();
  const [runs, setRuns] = useState<Run[]>([]);
  const [isBusy, setBusy] = useState(false);
  const held = useRef<Run[]>([]);
  const stopping = useRef<AbortController | null>(null);
  useEffect(() => () => stopping.current?.abort(), []);

  const ask = async (models: string[], request: Request) => {
    const stopper = new AbortController();
    stopping.current = stopper;
    held.current = models.map(() => begun(performance.now()));
    const show = () => setRuns([...held.current]);
    const showing = setInterval(show, SHOWN_EVERY_MS);
    const change = (pane: number, by: (run: Run) => Run) => {
      held.current = held.current.map((run, at) => (at === pane ? by(run) : run));
    };
    setBusy(true);
    show();
    try {
      const tell = teller(change);
      const [model] = models;
      if (models.length > 1) await askAll(api, models, request, stopper.signal, tell);
      else await askOne(api, { model, ...request }, stopper.signal, (each) => tell(0, each));
      held.current = held.current.map((run) => endedBy(run, { code: "connection_lost", sentence: "" }));
    } catch (error) {
      const failure = failureOf(error);
      held.current = held.current.map((run) => endedBy(run, failure));
    } finally {
      clearInterval(showing);
      held.current = held.current.map((run) => over(run, performance.now()));
      show();
      setBusy(false);
    }
    return held.current;
  };
  return { runs, isBusy, ask, stop: () => stopping.current?.abort(), forget: () => setRuns([]) };
}

function teller(change: (pane: number, by: (run: Run) => Run) => void): Tell {
  return (pane, said) => {
    const now = performance.now();
    if (said.kind === "data") change(pane, (run) => told(run, said.data, now));
    else if (said.kind === "failed") change(pane, (run) => failed(run, said.failure, now));
    else change(pane, (run) => over(run, now));
  };
}

function endedBy(run: Run, failure: ReturnType<typeof failureOf>): Run {
  if (run.ended !== null) return run;
  const now = performance.now();
  if (run.answer.failure !== null) return over(run, now);
  if (failure !== null) return failed(run, failure, now);
  return over({ ...run, answer: { ...run.answer, finish: "stopped" } }, now);
}
