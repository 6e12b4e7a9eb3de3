// How a tool answered, as shape, colour and word.

import { useTranslation } from "react-i18next";
import type { ToolReport } from "../api/types";
import { HealthMark, ShapeIcon } from "../parts/StateMark";

export function ToolMark({ status }: { status: ToolReport["status"] }) {
  const { t } = useTranslation();
  if (status !== "pass") return <HealthMark health={status === "warn" ? "warning" : "critical"} />;
  return (
    <span className="mark">
      <ShapeIcon shape="check" tone="ok" />
      {t("fleet.toolFine")}
    </span>
  );
}
