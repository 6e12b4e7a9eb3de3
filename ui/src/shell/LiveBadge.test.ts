import { expect, test } from "vitest";
import { moodOf } from "./LiveBadge";

test.each([
  ["connecting", 60_000, "connecting"],
  ["live", 60_000, "live"],
  ["lost", 1000, "reconnecting"],
  ["lost", 5000, "stale"],
  ["refused", 9000, "stale"],
] as const)("%s for %i ms is %s", (phase, ms, mood) => {
  expect(moodOf({ phase, since: 1000 }, 1000 + ms)).toBe(mood);
});
