// How many things need somebody, on every page.

import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { isGrave } from "../overview/attention";
import { useAttention } from "../overview/useAttention";
import { ShapeIcon } from "../parts/StateMark";

export function Bell() {
  const { t } = useTranslation();
  const matters = useAttention();
  if (matters.length === 0) return null;
  const isBad = matters.some(isGrave);
  return (
    <Link to="/" className="bell" aria-live="polite">
      <ShapeIcon shape={isBad ? "warning" : "dashed"} tone={isBad ? "bad" : "wait"} />
      {t("overview.bell", { count: matters.length })}
    </Link>
  );
}
