// Below which path the console is shown: a reverse proxy may have it at /ai/ instead of /.

/** Without the slash at its end: empty, or such as `/ai`. The files lie in its folder `assets`, sources in `src`. */
export const BASE = baseOf(import.meta.url);

export function baseOf(file: string): string {
  const { protocol, pathname } = new URL(file);
  if (!protocol.startsWith("http")) return "";
  return pathname.replace(/\/(assets|src)\/.*$/, "");
}

/** What a client of the API calls: the address of this page's platform. */
export function platformAddress(): string {
  return `${location.origin}${BASE}`;
}
