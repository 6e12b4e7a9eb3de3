import { type MantineColorScheme, useMantineColorScheme } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

const STROKE = { fill: "none", stroke: "currentColor", strokeWidth: 1.6 };
const ICONS: Record<MantineColorScheme, ReactNode> = {
  light: (
    <>
      <circle cx="8" cy="8" r="3" {...STROKE} />
      <path d="M8 1v2m0 10v2M1 8h2m10 0h2M3 3l1.4 1.4m7.2 7.2L13 13M3 13l1.4-1.4m7.2-7.2L13 3" {...STROKE} />
    </>
  ),
  dark: <path d="M13.4 9.8A6 6 0 0 1 6.2 2.6a6 6 0 1 0 7.2 7.2Z" {...STROKE} />,
  auto: <path d="M2 3h12v8H2Zm3.5 11h5M8 11v3" {...STROKE} />,
};

export function ThemeChoice() {
  const { t } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <fieldset className="choice">
      <legend className="hidden">{t("theme.label")}</legend>
      {(["light", "dark", "auto"] as const).map((scheme) => (
        <label key={scheme} title={t(`theme.${scheme}`)}>
          <input
            type="radio"
            name="theme"
            aria-label={t(`theme.${scheme}`)}
            checked={colorScheme === scheme}
            onChange={() => setColorScheme(scheme)}
          />
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
            {ICONS[scheme]}
          </svg>
        </label>
      ))}
    </fieldset>
  );
}
