// The live lists, looked through for what needs somebody.

import { useMemo } from "react";
import type { Device } from "../api/types";
import { useFiles, useInstances, useMe, useModels, useWorkers } from "../platform";
import { attention, type Matter } from "./attention";

/** Devices are not in the change stream: whoever looks at them gives them. */
export function useAttention(devices: Device[] = []): Matter[] {
  const isAdmin = useMe().data?.role === "admin";
  const models = useModels().data?.items;
  const instances = useInstances().data?.items;
  const workers = useWorkers().data?.items;
  const files = useFiles(isAdmin).data?.items;
  return useMemo(
    () =>
      attention({
        models: models ?? [],
        instances: instances ?? [],
        workers: workers ?? [],
        files: files ?? [],
        devices,
      }),
    [models, instances, workers, files, devices],
  );
}
