// One question whose answer comes whole: the answer, how long it took, or why there is none.

import { useEffect, useRef, useState } from "react";
import { usePlatform } from "../platform";
import type { Failure } from "./answer";
import { failureOf } from "./asking";

export interface Asked<T> {
  answer: T | null;
  seconds: number | null;
  failure: Failure | null;
  isBusy: boolean;
  ask: (path: string, body: unknown, read: (answer: Blob) => Promise<T>) => Promise<void>;
  stop: () => void;
}

/** A form is sent as it is, anything else as JSON. The answer before stays until the next one is there. */
export function useAsked<T>(): Asked<T> {
  const { api } = usePlatform();
  const [answer, setAnswer] = useState<T | null>(null);
  const [seconds, setSeconds] = useState<number | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const stopping = useRef<AbortController | null>(null);
  useEffect(() => () => stopping.current?.abort(), []);
  const ask: Asked<T>["ask"] = async (path, body, read) => {
    const stopper = new AbortController();
    stopping.current = stopper;
    setBusy(true);
    setFailure(null);
    const began = performance.now();
    try {
      const isForm = body instanceof FormData;
      const { "Content-Type": kind, ...safe } = api.writeHeaders();
      const headers = isForm || kind === undefined ? safe : { ...safe, "Content-Type": kind };
      const sent = isForm ? body : JSON.stringify(body);
      const response = await api.open(path, { method: "POST", headers, body: sent, signal: stopper.signal });
      const whole = await response.blob();
      setAnswer(await read(whole).catch(notUnderstood));
      setSeconds((performance.now() - began) / 1000);
    } catch (error) {
      setFailure(
        error instanceof NotUnderstood ? { code: "not_understood", sentence: "" } : failureOf(error),
      );
    } finally {
      setBusy(false);
    }
  };
  return { answer, seconds, failure, isBusy, ask, stop: () => stopping.current?.abort() };
}

class NotUnderstood extends Error {}

/** Whatever a reader stumbles over in an answer that came whole is the answer's fault. */
function notUnderstood(): never {
  throw new NotUnderstood();
}

export async function jsonOf<T>(answer: Blob): Promise<T> {
  return JSON.parse(await answer.text()) as T;
}
