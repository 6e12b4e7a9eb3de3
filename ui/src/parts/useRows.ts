// A list that is not in the change stream: asked for while it is looked at, and again after one's own changes.

import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { Entry } from "../live/listing";
import { usePlatform } from "../platform";

const AGAIN_MS = 10_000;

export function useRows<T extends Entry>(path: string): [UseQueryResult<T[]>, again: () => Promise<void>] {
  const { api, queries } = usePlatform();
  const queryKey = ["rows", path];
  const query = useQuery({
    queryKey,
    refetchInterval: AGAIN_MS,
    queryFn: async () => (await api.list<T>(path)).items,
  });
  return [query, () => queries.invalidateQueries({ queryKey })];
}
