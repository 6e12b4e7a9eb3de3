// The shared worker that holds the hub; each tab is a port.

import { BASE } from "../base";
import { Hub, type Tab, type ToHub } from "./hub";

const hub = new Hub(`${BASE}/api/v1/watch`);

addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0];
  if (port === undefined) return;
  const tab: Tab = { post: (said) => port.postMessage(said) };
  port.onmessage = ({ data }: MessageEvent<ToHub>) => {
    if (data.type === "open") hub.open(tab, data.language);
    else hub.close(tab);
  };
});
