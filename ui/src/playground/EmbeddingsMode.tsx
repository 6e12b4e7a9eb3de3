// Texts as vectors: a map of two dimensions, and the same as a table with the nearest of each.

import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { AskForm } from "./AskForm";
import type { Served } from "./catalogue";
import { type Ask, PATHS } from "./code";
import { moment } from "./FigureStrip";
import { linesOf, MOST_LINES } from "./lines";
import { ModelChoice } from "./ModelChoice";
import { mapOf, nearest, type Point } from "./pca";
import { jsonOf, useAsked } from "./useAsked";
import { usePlayground, Workbench } from "./Workbench";

interface Embedded {
  texts: string[];
  vectors: number[][];
  tokens: number | null;
}

interface Answer {
  data: { index: number; embedding: number[] }[];
  usage?: { prompt_tokens?: number };
}

const EXAMPLES = [
  "The cat sleeps on the sofa.",
  "A kitten naps on the couch.",
  "The stock market fell today.",
  "Shares lost value this morning.",
  "猫在沙发上睡觉。",
];

export function EmbeddingsMode({ served, model }: { served: Served[]; model: string }) {
  const { t } = useTranslation();
  const { set } = usePlayground();
  const [typed, setTyped] = useState(EXAMPLES.join("\n"));
  const asked = useAsked<Embedded>();
  const texts = linesOf(typed);
  const body = { model, input: texts };
  const ask: Ask = { kind: "embeddings", body };
  const send = () =>
    asked.ask(PATHS.embeddings, { ...body, encoding_format: "float" }, async (said) => {
      const { data, usage } = await jsonOf<Answer>(said);
      const ordered = [...data].sort((one, other) => one.index - other.index);
      return {
        texts,
        vectors: ordered.map(({ embedding }) => embedding),
        tokens: usage?.prompt_tokens ?? null,
      };
    });
  return (
    <Workbench
      ask={ask}
      beside={
        <ModelChoice
          label={t("playground.model")}
          served={served}
          value={model}
          onPick={(picked) => set({ model: picked })}
        />
      }
    >
      <AskForm
        asked={asked}
        verb={t("playground.embed")}
        model={model}
        isReady={texts.length > 0 && model !== ""}
        onSend={() => void send()}
      >
        <label className="field">
          {t("playground.texts")}
          <textarea
            rows={6}
            value={typed}
            aria-describedby="texts-help"
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          <span id="texts-help">{t("playground.textsHelp", { count: MOST_LINES })}</span>
        </label>
      </AskForm>
      {asked.answer !== null && <Embeddings embedded={asked.answer} seconds={asked.seconds} />}
    </Workbench>
  );
}

function Embeddings({ embedded, seconds }: { embedded: Embedded; seconds: number | null }) {
  const { t } = useTranslation();
  const { texts, vectors } = embedded;
  const points = useMemo(() => mapOf(vectors), [vectors]);
  const likes = useMemo(() => nearest(vectors), [vectors]);
  const words = { count: texts.length, size: vectors[0]?.length ?? 0 };
  return (
    <section>
      <h2>{t("playground.mapTitle")}</h2>
      <Plane points={points} texts={texts} label={t("playground.mapOf", words)} />
      <p className="sentence">
        {t("playground.mapHelp", words)}
        {seconds !== null && ` ${t("playground.took", { seconds: moment(seconds) })}`}
      </p>
      <section className="card scroll" tabIndex={0} aria-label={t("playground.texts")}>
        <table>
          <thead>
            <tr>
              <th className="number">{t("playground.line")}</th>
              <th>{t("playground.text")}</th>
              <th>{t("playground.nearest")}</th>
              <th className="number">{t("playground.cosine")}</th>
            </tr>
          </thead>
          <tbody>
            {texts.map((text, at) => {
              const like = likes[at] ?? null;
              return (
                // biome-ignore lint/suspicious/noArrayIndexKey: the same text may stand there twice
                <tr key={at}>
                  <td className="number">{at + 1}</td>
                  <td>{text}</td>
                  <td className="soft">
                    {like === null ? t("common.none") : `${like.at + 1} · ${texts[like.at]}`}
                  </td>
                  <td className="number">{like === null ? t("common.none") : like.cosine.toFixed(3)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
    </section>
  );
}

const WIDTH = 720;
const HEIGHT = 300;
const EDGE = 28;

function Plane({ points, texts, label }: { points: Point[]; texts: string[]; label: string }) {
  const place = ([x, y]: Point): Point => [
    WIDTH / 2 + x * (WIDTH / 2 - EDGE),
    HEIGHT / 2 - y * (HEIGHT / 2 - EDGE),
  ];
  return (
    <svg className="card embedding-map" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <path className="axis" d={`M0 ${HEIGHT / 2}H${WIDTH}M${WIDTH / 2} 0V${HEIGHT}`} />
      {points.map((point, at) => {
        const [x, y] = place(point);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a point is its text's line
          <g key={at}>
            <title>{texts[at]}</title>
            <circle cx={x} cy={y} r="12" />
            <text x={x} y={y + 4.5} textAnchor="middle">
              {at + 1}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
