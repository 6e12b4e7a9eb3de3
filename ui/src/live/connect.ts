// How a tab reaches the change stream: through the shared worker, or with a stream of its own where there is none.

import { BASE } from "../base";
import { type FromHub, Hub, type ToHub } from "./hub";

export interface Line {
  open(language: string): void;
  close(): void;
}

export function connect(hear: (said: FromHub) => void): Line {
  return "SharedWorker" in globalThis ? shared(hear) : own(hear);
}

function shared(hear: (said: FromHub) => void): Line {
  const worker = new SharedWorker(new URL("./watch.worker.ts", import.meta.url), { type: "module" });
  worker.port.onmessage = ({ data }: MessageEvent<FromHub>) => hear(data);
  const say = (said: ToHub) => worker.port.postMessage(said);
  let wanted: ToHub = { type: "close" };
  addEventListener("pagehide", () => say({ type: "close" }));
  addEventListener("pageshow", ({ persisted }) => persisted && say(wanted));
  const want = (said: ToHub) => {
    wanted = said;
    say(said);
  };
  return { open: (language) => want({ type: "open", language }), close: () => want({ type: "close" }) };
}

function own(hear: (said: FromHub) => void): Line {
  const hub = new Hub(`${BASE}/api/v1/watch`);
  const tab = { post: hear };
  return { open: (language) => hub.open(tab, language), close: () => hub.close(tab) };
}
