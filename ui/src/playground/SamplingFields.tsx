// The parameters of a chat; what is left empty is not sent.

import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Sampling } from "./search";
import { usePlayground } from "./Workbench";

const NUMBERS = [
  { name: "temperature", words: "temperature", step: 0.1, least: 0, most: 5 },
  { name: "top_p", words: "topP", step: 0.05, least: 0, most: 1 },
  { name: "max_tokens", words: "maxTokens", step: 1, least: 1, most: undefined },
  { name: "seed", words: "seed", step: 1, least: 0, most: undefined },
] as const;

export function SamplingFields() {
  const { t } = useTranslation();
  const { search, set } = usePlayground();
  return (
    <>
      <div className="pairs">
        {NUMBERS.map(({ name, words, step, least, most }) => (
          <label key={name} className="field">
            {t(`playground.${words}`)}
            <input
              type="number"
              inputMode="decimal"
              step={step}
              min={least}
              max={most}
              value={search[name] ?? ""}
              onChange={(event) => set({ [name]: numberIn(event.currentTarget.value) } as Sampling)}
            />
          </label>
        ))}
      </div>
      <StopWords />
      <p className="sentence">{t("playground.parametersHelp")}</p>
    </>
  );
}

function StopWords() {
  const { t } = useTranslation();
  const { search, set } = usePlayground();
  const [typed, setTyped] = useState((search.stop ?? []).join(", "));
  const change = (text: string) => {
    setTyped(text);
    const words = text
      .split(",")
      .map((each) => each.trim())
      .filter(Boolean);
    set({ stop: words.length === 0 ? undefined : words.slice(0, 4) });
  };
  return (
    <label className="field">
      {t("playground.stopWords")}
      <input
        value={typed}
        placeholder={t("playground.stopWordsHelp")}
        onChange={(event) => change(event.currentTarget.value)}
      />
    </label>
  );
}

export function numberIn(text: string): number | undefined {
  const found = Number.parseFloat(text);
  return Number.isFinite(found) ? found : undefined;
}
