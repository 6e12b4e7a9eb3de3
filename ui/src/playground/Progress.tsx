import { useTranslation } from "react-i18next";

/** For who does not see it: that an answer is on its way, and that it has ended, not each of its words. */
export function Progress({ isBusy, hasAnswer }: { isBusy: boolean; hasAnswer: boolean }) {
  const { t } = useTranslation();
  return (
    <p className="hidden" role="status">
      {isBusy ? t("playground.working") : hasAnswer ? t("playground.answered") : ""}
    </p>
  );
}
