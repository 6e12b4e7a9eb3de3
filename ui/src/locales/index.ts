// The language: chosen by the reader, else by the browser, the same in all tabs.

import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { en } from "./en";
import { zh } from "./zh";

export type Language = "en" | "zh-CN";

const KEY = "gpustack-lite.language";

export function firstLanguage(stored: string | null, browser: string): Language {
  if (stored === "en" || stored === "zh-CN") return stored;
  return browser.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

export function currentLanguage(): Language {
  return i18next.language as Language;
}

export function chooseLanguage(language: Language): void {
  localStorage.setItem(KEY, language);
  show(language);
}

export function startLanguage(): void {
  i18next.use(initReactI18next).init({
    lng: firstLanguage(localStorage.getItem(KEY), navigator.language),
    fallbackLng: "en",
    resources: { en: { translation: en }, "zh-CN": { translation: zh } },
    interpolation: { escapeValue: false },
  });
  document.documentElement.lang = i18next.language;
  addEventListener("storage", ({ key, newValue }) => {
    if (key === KEY && newValue !== null) show(newValue as Language);
  });
}

function show(language: Language): void {
  document.documentElement.lang = language;
  void i18next.changeLanguage(language);
}

declare module "i18next" {
  interface CustomTypeOptions {
    resources: { translation: typeof en };
  }
}
