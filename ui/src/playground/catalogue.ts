// Which models may be asked, and for what: /v1/models, which lists what its reader may use.

import { useQuery } from "@tanstack/react-query";
import { usePlatform } from "../platform";

export interface Served {
  id: string;
  state: string;
  supported_paths: string[] | null;
  context_length: number | null;
}

const EVERY_MS = 10_000;

/** Ready ones first. Null while it is not known. */
export function useServed(): Served[] | null {
  const { api } = usePlatform();
  const { data } = useQuery({
    queryKey: ["served"],
    queryFn: () => api.get<{ data: Served[] }>("/v1/models"),
    refetchInterval: EVERY_MS,
  });
  return data?.data ?? null;
}

/** Those that serve `path`, or of which nobody knows. */
export function serving(served: Served[], path: string): Served[] {
  return served.filter(({ supported_paths: paths }) => paths === null || paths.includes(path));
}
