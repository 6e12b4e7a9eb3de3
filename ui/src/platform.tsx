// What every page may reach: the API, the live lists, and who is signed in.

import { type QueryClient, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import type { Api } from "./api/client";
import type { Device, Instance, Me, Model, ModelFiles, PlatformEvent, Worker } from "./api/types";
import type { Line } from "./live/connect";
import type { Entry, Listing } from "./live/listing";
import type { Live, LiveKey } from "./live/live";

export interface Platform {
  api: Api;
  queries: QueryClient;
  live: Live;
  line: Line;
}

export const PlatformContext = createContext<Platform | null>(null);

export function usePlatform(): Platform {
  const platform = useContext(PlatformContext);
  if (platform === null) throw new Error("no platform around this component");
  return platform;
}

const ME = ["me"] as const;
const DEVICES_EVERY_MS = 5000;

export function useMe(): UseQueryResult<Me> {
  const { api } = usePlatform();
  return useQuery({
    queryKey: ME,
    queryFn: async () => {
      const me = await api.get<Me>("/api/v1/auth/me");
      api.keepCsrf(me.csrf_token);
      return me;
    },
  });
}

export const useModels = () => useLive<Model>(["live", "model"], "/api/v1/models");
export const useInstances = () => useLive<Instance>(["live", "instance"], "/api/v1/instances");
export const useFiles = (isAsked = true) => useLive<ModelFiles>(["live", "file"], "/api/v1/files", isAsked);
export const useWorkers = () => useLive<Worker>(["live", "worker"], "/api/v1/workers");

const NEWEST_EVENTS = 200;

export function useModelEvents(model: string): UseQueryResult<Listing<PlatformEvent>> {
  const { api, live } = usePlatform();
  const key: LiveKey = ["live", "event", { model }];
  const path = `/api/v1/events?${new URLSearchParams({ model, limit: String(NEWEST_EVENTS) })}`;
  return useQuery({ queryKey: key, queryFn: () => live.list(key, () => api.latest<PlatformEvent>(path)) });
}

/** Readings of devices change all the time and are not in the change stream: they are asked for while looked at. */
export function useDevices(everyMs = DEVICES_EVERY_MS): UseQueryResult<Listing<Device>> {
  const { api } = usePlatform();
  return useQuery({
    queryKey: ["devices"],
    queryFn: () => api.list<Device>("/api/v1/devices"),
    refetchInterval: everyMs,
  });
}

function useLive<T extends Entry>(key: LiveKey, path: string, isAsked = true): UseQueryResult<Listing<T>> {
  const { api, live } = usePlatform();
  const queryFn = () => live.list(key, () => api.list<T>(path));
  return useQuery({ queryKey: key, enabled: isAsked, queryFn });
}
