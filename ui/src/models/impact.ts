// What breaks if a deployment ends now, in sentences.

import { useQuery } from "@tanstack/react-query";
import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";
import type { components } from "../api/schema.gen";
import { usePlatform } from "../platform";

export type Impact = components["schemas"]["ImpactShape"];

const AGAIN_MS = 5000;
const MOST_NAMES = 5;

export function impactPath(model: string): string {
  return `/api/v1/models/${encodeURIComponent(model)}/impact`;
}

/** Asked for while it is looked at; nothing for those who may not manage the model. */
export function useImpact(model: string, isWanted: boolean) {
  const { api } = usePlatform();
  return useQuery({
    queryKey: ["impact", model],
    enabled: isWanted,
    retry: false,
    refetchInterval: AGAIN_MS,
    queryFn: ({ signal }) => api.get<Impact>(impactPath(model), signal),
  });
}

/** "3 requests are in flight", "Used in the last 24 hours with the key ci-bot". */
export function impactSentences(impact: Impact | undefined, t: TFunction): string[] {
  if (impact === undefined) return [];
  const { in_flight, queued, hours, keys } = impact;
  const names = [...new Set(keys.map(({ key, user }) => key ?? user).filter((name) => name !== null))];
  const shown = names.slice(0, MOST_NAMES).join(", ");
  return [
    in_flight === null
      ? t("acts.inFlightUnknown")
      : in_flight > 0 && t("acts.inFlight", { count: in_flight }),
    queued !== null && queued > 0 && t("acts.queued", { count: queued }),
    names.length > 0 &&
      (names.length > MOST_NAMES
        ? t("acts.usedByMore", { names: shown, more: names.length - MOST_NAMES, hours })
        : t("acts.usedBy", { names: shown, hours })),
  ].filter((each) => each !== false);
}

export function useConsequences(model: string, isWanted: boolean): string[] {
  const { t } = useTranslation();
  return impactSentences(useImpact(model, isWanted).data, t);
}
