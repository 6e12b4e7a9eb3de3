// A state as shape, colour and word: any two of them could be missing and it would still be told.

import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { AnyState, Health } from "../api/types";

export type Shape =
  | "check"
  | "half"
  | "dashed"
  | "turning"
  | "square"
  | "warning"
  | "cross"
  | "slash"
  | "question";
export type Tone = "ok" | "busy" | "wait" | "bad" | "off";

const LOOKS: Record<AnyState | Health, [Shape, Tone]> = {
  ready: ["check", "ok"],
  partly_ready: ["half", "wait"],
  pending: ["dashed", "wait"],
  scheduled: ["dashed", "busy"],
  preparing: ["turning", "busy"],
  starting: ["turning", "busy"],
  joining: ["turning", "busy"],
  stopped: ["square", "off"],
  sleeping: ["square", "off"],
  stopping: ["turning", "off"],
  unhealthy: ["warning", "bad"],
  failed: ["cross", "bad"],
  lost: ["slash", "bad"],
  silent: ["slash", "bad"],
  ok: ["check", "ok"],
  warning: ["warning", "wait"],
  alarm: ["warning", "bad"],
  critical: ["cross", "bad"],
  unknown: ["question", "off"],
};

export function StateMark({ state }: { state: AnyState }) {
  const { t } = useTranslation();
  return <Mark look={LOOKS[state]} word={t(`state.${state}`)} />;
}

export function HealthMark({ health }: { health: Health }) {
  const { t } = useTranslation();
  return <Mark look={LOOKS[health]} word={t(`health.${health}`)} />;
}

export function Mark({ look: [shape, tone], word }: { look: [Shape, Tone]; word: string }) {
  return (
    <span className="mark">
      <ShapeIcon shape={shape} tone={tone} />
      {word}
    </span>
  );
}

const RING = <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" strokeWidth="1.8" />;
const SHAPES: Record<Shape, ReactNode> = {
  check: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" />
      <path d="m4.8 8.2 2.2 2.2 4.2-4.6" fill="none" stroke="var(--card)" strokeWidth="1.8" />
    </>
  ),
  half: (
    <>
      {RING}
      <path d="M8 3.5a4.5 4.5 0 0 1 0 9Z" fill="currentColor" />
    </>
  ),
  dashed: (
    <circle
      cx="8"
      cy="8"
      r="6.2"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeDasharray="2.6 2.3"
    />
  ),
  turning: (
    <>
      <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" strokeWidth="1.8" opacity="0.3" />
      <path
        className="turning"
        d="M8 1.8A6.2 6.2 0 0 1 14.2 8"
        fill="none"
        stroke="currentColor"
        strokeWidth="2.2"
      />
    </>
  ),
  square: (
    <rect x="3" y="3" width="10" height="10" rx="1.5" fill="none" stroke="currentColor" strokeWidth="1.8" />
  ),
  warning: (
    <>
      <path d="M8 1.6 15 14H1Z" fill="none" stroke="currentColor" strokeWidth="1.7" strokeLinejoin="round" />
      <path d="M8 6v3.6M8 11v1.4" stroke="currentColor" strokeWidth="1.7" />
    </>
  ),
  cross: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" />
      <path d="m5.4 5.4 5.2 5.2m0-5.2-5.2 5.2" stroke="var(--card)" strokeWidth="1.8" />
    </>
  ),
  slash: (
    <>
      {RING}
      <path d="m3.8 12.2 8.4-8.4" stroke="currentColor" strokeWidth="1.8" />
    </>
  ),
  question: (
    <>
      {RING}
      <path
        d="M5.8 6.6c0-3 4.4-2.8 4.4-.2C10.2 8 8 7.8 8 9.4M8 10.8V12"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
      />
    </>
  ),
};

export function ShapeIcon({ shape, tone }: { shape: Shape; tone: Tone }) {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" className={`tone-${tone}`}>
      {SHAPES[shape]}
    </svg>
  );
}
