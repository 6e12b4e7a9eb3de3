// The list of requests, page by page by cursor; the newest page is asked for again while only that one is shown.

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { components } from "../api/schema.gen";
import type { Page } from "../api/types";
import { usePlatform } from "../platform";
import { queryOf, type RequestsSearch } from "./search";
import type { RequestRow } from "./times";

const EVERY_MS = 5000;
const AT_ONCE = 50;

export function useRequests(search: RequestsSearch) {
  const { api } = usePlatform();
  const query = queryOf(search).toString();
  return useInfiniteQuery({
    queryKey: ["requests", query],
    initialPageParam: "",
    queryFn: ({ pageParam: cursor }) => {
      const asked = new URLSearchParams(query);
      asked.set("limit", String(AT_ONCE));
      if (cursor !== "") asked.set("cursor", cursor);
      return api.get<Page<RequestRow>>(`/api/v1/requests?${asked}`);
    },
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 1 ? false : EVERY_MS),
    placeholderData: (before) => before,
  });
}

export interface Named {
  id: number;
  name: string;
}

/** For the filters: what there is to choose. Users are an administrator's to see. */
export function useNamed(what: "keys" | "users", isAllowed: boolean): Named[] {
  const { api } = usePlatform();
  const { data } = useQuery({
    queryKey: ["named", what],
    enabled: isAllowed,
    queryFn: async () => (await api.list<Listed>(`/api/v1/${what}`)).items,
  });
  return (data ?? []).map(({ id, name, username }) => ({
    id: Number(id),
    name: name ?? username ?? `#${id}`,
  }));
}

interface Listed {
  id: number;
  name?: components["schemas"]["KeyShape"]["name"];
  username?: string;
}
