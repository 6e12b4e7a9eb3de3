// Requests to the server this page came from: cookie for reading, CSRF token for writing, errors as ApiError.

import { BASE } from "../base";
import type { Entry, Listing } from "../live/listing";
import type { Page } from "./types";

const CSRF = "gpustack-lite.csrf";
const PAGE_SIZE = 200;

/** `message` is the server's sentence, in the reader's language. `status` is 0 when no server answered. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly code = "",
    /** The field that was refused, such as `options.tp`. */
    readonly param: string | null = null,
  ) {
    super(message);
  }
}

export class Api {
  constructor(private readonly language: () => string) {}

  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.json<T>(path, signal === undefined ? {} : { signal });
  }

  post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
    return this.write<T>("POST", path, body, signal);
  }

  put<T>(path: string, body: unknown = {}): Promise<T> {
    return this.write<T>("PUT", path, body);
  }

  /** A merge patch: what is null goes back to its default, what is left out stays. */
  patch<T>(path: string, body: unknown): Promise<T> {
    return this.write<T>("PATCH", path, body);
  }

  delete(path: string): Promise<void> {
    return this.write<void>("DELETE", path, undefined);
  }

  /** What a write that is not JSON must carry, such as a request to `/v1` whose answer is a stream. */
  writeHeaders(): Record<string, string> {
    const token = sessionStorage.getItem(CSRF);
    return { "Content-Type": "application/json", ...(token === null ? {} : { "X-CSRF-Token": token }) };
  }

  /** All pages. The revision is the first page's: what changed since is told again by the stream. */
  async list<T extends Entry>(path: string): Promise<Listing<T>> {
    const joint = path.includes("?") ? "&" : "?";
    const first = await this.get<Page<T>>(`${path}${joint}limit=${PAGE_SIZE}`);
    const items = [...first.items];
    for (let cursor = first.next_cursor; cursor !== null; ) {
      const page = await this.get<Page<T>>(
        `${path}${joint}limit=${PAGE_SIZE}&cursor=${encodeURIComponent(cursor)}`,
      );
      items.push(...page.items);
      cursor = page.next_cursor;
    }
    return { revision: first.revision, items };
  }

  /** The first page only: of a diary that is newest first, what is newest. */
  async latest<T extends Entry>(path: string): Promise<Listing<T>> {
    const { revision, items } = await this.get<Page<T>>(path);
    return { revision, items };
  }

  /** The answer itself, for bodies that are read as they come. */
  async open(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { "Accept-Language": this.language(), ...(init.headers as Record<string, string>) };
    const response = await fetch(`${BASE}${path}`, { ...init, headers, cache: "no-store" }).catch(
      (error: unknown) => {
        if (error instanceof DOMException && error.name === "AbortError") throw error;
        throw new ApiError(0, "");
      },
    );
    if (!response.ok) throw await refusalOf(response);
    return response;
  }

  keepCsrf(token: string | null): void {
    if (token !== null) sessionStorage.setItem(CSRF, token);
  }

  private write<T>(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    return this.json<T>(path, {
      method,
      headers: this.writeHeaders(),
      ...content,
      ...(signal ? { signal } : {}),
    });
  }

  private async json<T>(path: string, init: RequestInit): Promise<T> {
    const response = await this.open(path, init);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }
}

async function refusalOf(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as {
      error?: { message?: string; code?: string | null; param?: string | null };
    };
    return new ApiError(response.status, error?.message ?? "", error?.code ?? "", error?.param ?? null);
  } catch {
    return new ApiError(response.status, "");
  }
}
