// Whether the draft would fit: asked while one types, the last answer wins.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { components } from "../api/schema.gen";
import { usePlatform } from "../platform";
import { bodyOf, type Spec } from "./spec";

export type Evaluation = components["schemas"]["EvaluationShape"];
const PAUSE_MS = 350;

export function useFit(spec: Spec) {
  const { api } = usePlatform();
  const { name: _, ...asked } = bodyOf(spec);
  const text = useSettled(JSON.stringify(asked));
  const source = (JSON.parse(text) as { source?: string }).source ?? "";
  return useQuery({
    queryKey: ["fit", text],
    enabled: source !== "",
    staleTime: 5000,
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) => api.post<Evaluation>("/api/v1/evaluate", JSON.parse(text), signal),
  });
}

/** The value as it was when nothing had been typed for a moment. */
export function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
