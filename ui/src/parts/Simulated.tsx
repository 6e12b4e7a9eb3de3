import { useTranslation } from "react-i18next";

/** The mark of what was declared and is not there. */
export function Simulated() {
  const { t } = useTranslation();
  return (
    <span className="tag" title={t("common.simulatedExplain")}>
      {t("common.simulated")}
    </span>
  );
}
