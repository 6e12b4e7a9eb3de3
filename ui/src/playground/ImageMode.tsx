// Pictures from words.

import { useState } from "react";
import { useTranslation } from "react-i18next";
import { AskForm } from "./AskForm";
import type { Served } from "./catalogue";
import { type Ask, PATHS } from "./code";
import { moment } from "./FigureStrip";
import { ModelChoice } from "./ModelChoice";
import { jsonOf, useAsked } from "./useAsked";
import { usePlayground, Workbench } from "./Workbench";

interface Drawn {
  prompt: string;
  pictures: string[];
}

const SIZES = ["256x256", "512x512", "768x768", "1024x1024"];
const MOST = 4;

export function ImageMode({ served, model }: { served: Served[]; model: string }) {
  const { t } = useTranslation();
  const { set } = usePlayground();
  const [prompt, setPrompt] = useState("A red fox in the snow, watercolour");
  const [size, setSize] = useState("512x512");
  const [count, setCount] = useState(1);
  const asked = useAsked<Drawn>();
  const body = { model, prompt, size, n: count, response_format: "b64_json" };
  const ask: Ask = { kind: "image", body };
  const send = () =>
    asked.ask(PATHS.image, body, async (said) => {
      const { data } = await jsonOf<{ data: { b64_json?: string }[] }>(said);
      return {
        prompt,
        pictures: data.flatMap(({ b64_json: text }) => (text ? [`data:image/png;base64,${text}`] : [])),
      };
    });
  return (
    <Workbench
      ask={ask}
      beside={
        <>
          <ModelChoice
            label={t("playground.model")}
            served={served}
            value={model}
            onPick={(picked) => set({ model: picked })}
          />
          <label className="field">
            {t("playground.size")}
            <select value={size} onChange={(event) => setSize(event.currentTarget.value)}>
              {SIZES.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
          <label className="field">
            {t("playground.count")}
            <input
              type="number"
              min={1}
              max={MOST}
              value={count}
              onChange={(event) =>
                setCount(Math.min(MOST, Math.max(1, Number.parseInt(event.currentTarget.value, 10) || 1)))
              }
            />
          </label>
        </>
      }
    >
      <AskForm
        asked={asked}
        verb={t("playground.draw")}
        model={model}
        isReady={prompt.trim() !== "" && model !== ""}
        onSend={() => void send()}
      >
        <label className="field">
          {t("playground.picturePrompt")}
          <textarea rows={3} value={prompt} onChange={(event) => setPrompt(event.currentTarget.value)} />
        </label>
      </AskForm>
      {asked.answer !== null && <Pictures drawn={asked.answer} seconds={asked.seconds} />}
    </Workbench>
  );
}

function Pictures({ drawn: { prompt, pictures }, seconds }: { drawn: Drawn; seconds: number | null }) {
  const { t } = useTranslation();
  return (
    <section>
      <h2>{t("playground.drawn")}</h2>
      <div className="drawn">
        {pictures.map((url, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two pictures may be the same
          <figure key={at} className="card">
            <img src={url} alt={t("playground.drawnOf", { number: at + 1, prompt })} />
            <a href={url} download={`picture-${at + 1}.png`}>
              {t("playground.save")}
            </a>
          </figure>
        ))}
      </div>
      {seconds !== null && <p className="sentence">{t("playground.took", { seconds: moment(seconds) })}</p>}
    </section>
  );
}
