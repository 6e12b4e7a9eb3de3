import { useTranslation } from "react-i18next";
import { chooseLanguage, type Language } from "../locales";

/** Names the other language in that language, for those who cannot read this one. */
export function LanguageSwitch() {
  const { t, i18n } = useTranslation();
  const other: Language = i18n.language === "en" ? "zh-CN" : "en";
  return (
    <button
      type="button"
      className="quiet-button"
      lang={other}
      title={t("language.label")}
      onClick={() => chooseLanguage(other)}
    >
      {t("language.switch")}
    </button>
  );
}
