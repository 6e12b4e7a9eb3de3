// One change stream for all tabs of a browser: HTTP/1.1 gives a browser six connections to a host, and each
// stream would hold one for ever.

import { follow, type Status } from "./follow";
import type { Message } from "./sse";

export type ToHub = { type: "open"; language: string } | { type: "close" };
export type FromHub = { type: "message"; message: Message } | { type: "status"; status: Status };

export interface Tab {
  post(said: FromHub): void;
}

export class Hub {
  private readonly tabs = new Set<Tab>();
  private stream: AbortController | null = null;
  private language = "";
  private status: Status = { phase: "connecting", since: 0 };
  private latestId = "";

  constructor(private readonly url: string) {}

  /** A tab that comes later is greeted as the stream greeted the first one. */
  open(tab: Tab, language: string): void {
    this.tabs.add(tab);
    if (this.stream === null || this.language !== language || this.status.phase === "refused") {
      this.dial(language);
      return;
    }
    tab.post({ type: "status", status: this.status });
    if (this.status.phase === "live" && this.latestId !== "") {
      tab.post({ type: "message", message: { event: "hello", id: this.latestId, data: "" } });
    }
  }

  close(tab: Tab): void {
    this.tabs.delete(tab);
    if (this.tabs.size > 0) return;
    this.stream?.abort();
    this.stream = null;
  }

  private dial(language: string): void {
    this.stream?.abort();
    const stream = new AbortController();
    this.stream = stream;
    this.language = language;
    this.latestId = "";
    const listener = {
      onMessage: (message: Message) => {
        if (message.id !== "") this.latestId = message.id;
        this.tell({ type: "message", message });
      },
      onStatus: (status: Status) => {
        this.status = status;
        this.tell({ type: "status", status });
      },
    };
    void follow(this.url, language, listener, stream.signal);
  }

  private tell(said: FromHub): void {
    for (const tab of this.tabs) tab.post(said);
  }
}
