// Documents in the order in which they answer a query.

import { useState } from "react";
import { useTranslation } from "react-i18next";
import { AskForm } from "./AskForm";
import type { Served } from "./catalogue";
import { type Ask, PATHS } from "./code";
import { moment } from "./FigureStrip";
import { linesOf, MOST_LINES } from "./lines";
import { ModelChoice } from "./ModelChoice";
import { jsonOf, useAsked } from "./useAsked";
import { usePlayground, Workbench } from "./Workbench";

interface Ranked {
  documents: string[];
  results: { index: number; relevance_score: number }[];
}

const QUERY = "How do I keep a cat off the sofa?";
const DOCUMENTS = [
  "Shares lost value this morning.",
  "Give the cat a place of its own, higher than the sofa.",
  "Sofas are made of wood, foam and cloth.",
];

export function RerankMode({ served, model }: { served: Served[]; model: string }) {
  const { t } = useTranslation();
  const { set } = usePlayground();
  const [query, setQuery] = useState(QUERY);
  const [typed, setTyped] = useState(DOCUMENTS.join("\n"));
  const asked = useAsked<Ranked>();
  const documents = linesOf(typed);
  const body = { model, query, documents };
  const ask: Ask = { kind: "rerank", body };
  const send = () =>
    asked.ask(PATHS.rerank, body, async (said) => {
      const { results } = await jsonOf<Pick<Ranked, "results">>(said);
      const best = [...results].sort((one, other) => other.relevance_score - one.relevance_score);
      return { documents, results: best };
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
        verb={t("playground.rank")}
        model={model}
        isReady={documents.length > 0 && query.trim() !== "" && model !== ""}
        onSend={() => void send()}
      >
        <label className="field">
          {t("playground.question")}
          <input value={query} onChange={(event) => setQuery(event.currentTarget.value)} />
        </label>
        <label className="field">
          {t("playground.documents")}
          <textarea
            rows={6}
            value={typed}
            aria-describedby="documents-help"
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          <span id="documents-help">{t("playground.textsHelp", { count: MOST_LINES })}</span>
        </label>
      </AskForm>
      {asked.answer !== null && <Ranking ranked={asked.answer} seconds={asked.seconds} />}
    </Workbench>
  );
}

function Ranking({ ranked: { documents, results }, seconds }: { ranked: Ranked; seconds: number | null }) {
  const { t } = useTranslation();
  const scores = results.map(({ relevance_score: score }) => score);
  const best = Math.max(...scores);
  const least = Math.min(0, ...scores);
  return (
    <section>
      <h2>{t("playground.rankTitle")}</h2>
      <section className="card scroll" tabIndex={0} aria-label={t("playground.rankTitle")}>
        <table>
          <thead>
            <tr>
              <th className="number">{t("playground.place")}</th>
              <th>{t("playground.document")}</th>
              <th className="number">{t("playground.line")}</th>
              <th className="number">{t("playground.score")}</th>
            </tr>
          </thead>
          <tbody>
            {results.map(({ index, relevance_score: score }, at) => (
              <tr key={index} data-line={index + 1}>
                <td className="number">{at + 1}</td>
                <td>
                  {documents[index]}
                  <div className="track score" aria-hidden="true">
                    <i style={{ width: `${best > least ? (100 * (score - least)) / (best - least) : 0}%` }} />
                  </div>
                </td>
                <td className="number">{index + 1}</td>
                <td className="number">{score.toFixed(3)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {seconds !== null && <p className="sentence">{t("playground.took", { seconds: moment(seconds) })}</p>}
    </section>
  );
}
