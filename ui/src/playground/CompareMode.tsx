// Two to six answers side by side: one prompt to all at once, with the figures of each and of all together.

import { useState } from "react";
import { useTranslation } from "react-i18next";
import { AnswerView } from "./AnswerView";
import { Composer } from "./Composer";
import type { Served } from "./catalogue";
import type { Ask, Json } from "./code";
import { messagesOf, requestOf, type Turn } from "./conversation";
import { FigureStrip, TotalStrip } from "./FigureStrip";
import { ModelChoice } from "./ModelChoice";
import { Progress } from "./Progress";
import type { Run } from "./run";
import { SamplingFields } from "./SamplingFields";
import { FEWEST_PANES, MOST_PANES, panesOf, samplingOf } from "./search";
import { useRuns } from "./useRuns";
import { Code, usePlayground } from "./Workbench";

const EXAMPLE: Turn = { kind: "asked", text: "Hello!", pictures: [] };

export function CompareMode({ served }: { served: Served[] }) {
  const { t } = useTranslation();
  const { search, set } = usePlayground();
  const { runs, isBusy, ask, stop, forget } = useRuns();
  const [system, setSystem] = useState("");
  const [draft, setDraft] = useState<Turn | null>(null);
  const [sent, setSent] = useState<Turn & { kind: "asked" }>();
  const panes = panesOf(
    search,
    served.map(({ id }) => id),
  );
  const change = (next: string[]) => {
    forget();
    set({ panes: next });
  };
  const request = (turn: Turn) => requestOf(messagesOf(system, [turn]), samplingOf(search), []);
  const send = (text: string, pictures: string[]) => {
    const turn = { kind: "asked", text, pictures } as const;
    setSent(turn);
    void ask(panes, request(turn));
  };
  const body = { model: panes[0] ?? "", ...(request(draft ?? sent ?? EXAMPLE) as { [name: string]: Json }) };
  const shown: Ask = { kind: "chat", body };
  return (
    <>
      {search.code !== undefined && <Code ask={shown} />}
      <details className="settings">
        <summary>{t("playground.parameters")}</summary>
        <div className="settings-fields">
          <label className="field">
            {t("playground.system")}
            <textarea rows={4} value={system} onChange={(event) => setSystem(event.currentTarget.value)} />
          </label>
          <div className="stack">
            <SamplingFields />
          </div>
        </div>
      </details>
      <div className="toolbar">
        <button
          type="button"
          className="button"
          disabled={panes.length >= MOST_PANES || isBusy}
          onClick={() => change([...panes, panes.at(-1) ?? ""])}
        >
          {t("playground.addPane")}
        </button>
        <span className="soft small">{t("playground.compareHelp")}</span>
        {sent !== undefined && <span className="sent cut">“{sent.text}”</span>}
      </div>
      <div className={`panes of-${panes.length}`}>
        {panes.map((model, at) => (
          <Pane
            // biome-ignore lint/suspicious/noArrayIndexKey: a pane is its place; the same model may stand in several
            key={at}
            number={at + 1}
            model={model}
            served={served}
            run={runs[at]}
            isFixed={isBusy}
            onPick={(picked) => change(panes.map((each, other) => (other === at ? picked : each)))}
            onRemove={
              panes.length > FEWEST_PANES ? () => change(panes.filter((_, other) => other !== at)) : null
            }
          />
        ))}
      </div>
      <Progress isBusy={isBusy} hasAnswer={runs.length > 0} />
      <div className="foot">
        {runs.length > 0 && (
          <section className="card together" aria-label={t("playground.total")}>
            <h2>{t("playground.total")}</h2>
            <TotalStrip runs={runs} />
            <span className="soft small">{t("playground.measuredHere")}</span>
          </section>
        )}
        <Composer
          verb={t("playground.sendAll")}
          isBusy={isBusy}
          isReady={panes.every((each) => each !== "")}
          onSend={send}
          onStop={stop}
          onDraft={(text, pictures) =>
            setDraft(text === "" && pictures.length === 0 ? null : { kind: "asked", text, pictures })
          }
        />
      </div>
    </>
  );
}

interface PaneProps {
  number: number;
  model: string;
  served: Served[];
  run: Run | undefined;
  isFixed: boolean;
  onPick: (model: string) => void;
  onRemove: (() => void) | null;
}

function Pane({ number, model, served, run, isFixed, onPick, onRemove }: PaneProps) {
  const { t } = useTranslation();
  const name = t("playground.pane", { number });
  return (
    <section className="card pane" aria-label={name} data-pane={number}>
      <header>
        <ModelChoice label={name} served={served} value={model} onPick={onPick} isHidden />
        {onRemove !== null && (
          <button
            type="button"
            className="quiet-button"
            disabled={isFixed}
            aria-label={t("playground.removePane", { number })}
            onClick={onRemove}
          >
            ✕
          </button>
        )}
      </header>
      <section className="pane-text" tabIndex={0} aria-label={t("playground.answerOf", { number })}>
        {run === undefined ? (
          <p className="soft">{t("playground.compareEmpty")}</p>
        ) : (
          <AnswerView run={run} model={model} />
        )}
      </section>
      {run !== undefined && <FigureStrip run={run} />}
    </section>
  );
}
