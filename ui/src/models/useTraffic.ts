// What each deployment was asked lately; one question for all of them.

import { useQuery } from "@tanstack/react-query";
import { usePlatform } from "../platform";
import type { Traffic } from "./fleet";

export const TRAFFIC_MINUTES = 15;
const EVERY_MS = 15_000;

export function useTraffic() {
  const { api } = usePlatform();
  return useQuery({
    queryKey: ["traffic"],
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) => {
      const from = new Date(Date.now() - TRAFFIC_MINUTES * 60_000).toISOString();
      const query = new URLSearchParams({ by: "model", from });
      const { items } = await api.get<{ items: (Traffic & { model: string })[] }>(
        `/api/v1/usage?${query}`,
        signal,
      );
      return new Map<string, Traffic>(items.map(({ model, ...sums }) => [model, sums]));
    },
  });
}
