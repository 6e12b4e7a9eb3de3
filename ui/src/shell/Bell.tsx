// How many things need somebody, on every page.

import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { isGrave } from "../overview/attention";
import { useAttention } from "../overview/useAttention";
import { ShapeIcon } from "../parts/StateMark";
import { useDevices, useMe } from "../platform";

/** Faults act by themselves within seconds; to be told of them half a minute later is soon enough. */
const DEVICES_EVERY_MS = 30_000;

/** For those who can do something about it. */
export function Bell() {
  return useMe().data?.role === "admin" ? <Count /> : null;
}

function Count() {
  const { t } = useTranslation();
  const matters = useAttention(useDevices(DEVICES_EVERY_MS).data?.items);
  if (matters.length === 0) return null;
  const isBad = matters.some(isGrave);
  return (
    <Link to="/" className="bell" aria-live="polite">
      <ShapeIcon shape={isBad ? "warning" : "dashed"} tone={isBad ? "bad" : "wait"} />
      {t("overview.bell", { count: matters.length })}
    </Link>
  );
}
