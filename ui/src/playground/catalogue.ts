// Which models may be asked, and for what: /v1/models, which lists what its reader may use.

import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { usePlatform } from "../platform";

export interface Served {
  id: string;
  state: string;
  supported_paths: string[] | null;
  context_length: number | null;
}

const EVERY_MS = 10_000;

/** Ready ones first. */
export function useServed(): UseQueryResult<Served[]> {
  const { api } = usePlatform();
  return useQuery({
    queryKey: ["served"],
    queryFn: async () => (await api.get<{ data: Served[] }>("/v1/models")).data,
    refetchInterval: EVERY_MS,
  });
}

/** Those that serve `path`, or of which nobody knows. */
export function serving(served: Served[], path: string): Served[] {
  return served.filter(({ supported_paths: paths }) => paths === null || paths.includes(path));
}
