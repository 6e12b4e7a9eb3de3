// Says whether what is on the screen is true now, and since when it may not be.

import { useEffect, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { clockTime, seconds } from "../format";
import type { Status } from "../live/follow";
import { ShapeIcon } from "../parts/StateMark";
import { usePlatform } from "../platform";

/** A short break is not worth an alarm: the server may just be changing its code. */
const STALE_AFTER_MS = 5000;

type Mood = "connecting" | "live" | "reconnecting" | "stale";

export function moodOf({ phase, since }: Status, now: number): Mood {
  if (phase === "live" || phase === "connecting") return phase;
  return now - since < STALE_AFTER_MS ? "reconnecting" : "stale";
}

export function LiveBadge() {
  const { live } = usePlatform();
  const { t, i18n } = useTranslation();
  const status = useSyncExternalStore(live.subscribe, live.getStatus);
  const now = useNow(status.phase === "lost");
  const mood = moodOf(status, now);
  const explain = status.phase === "refused" ? "lost" : status.phase;
  return (
    <div
      className="live"
      title={t(`live.explain.${explain}`, { time: clockTime(status.since, i18n.language) })}
    >
      <ShapeIcon
        shape={mood === "live" ? "check" : mood === "stale" ? "warning" : "turning"}
        tone={TONES[mood]}
      />
      <span className="hidden" role="status">
        {mood !== "stale"
          ? t(`live.${mood}`)
          : t("live.explain.lost", { time: clockTime(status.since, i18n.language) })}
      </span>
      <span aria-hidden="true" data-testid="live">
        {mood !== "stale"
          ? t(`live.${mood}`)
          : t("live.stale", { age: seconds(Math.round((now - status.since) / 1000)) })}
      </span>
    </div>
  );
}

const TONES = { connecting: "busy", live: "ok", reconnecting: "busy", stale: "wait" } as const;

function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isTicking) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}
