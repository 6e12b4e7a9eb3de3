// A conversation with one model: streamed, stopped, with pictures, reasoning and tools.

import { useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { AnswerView } from "./AnswerView";
import type { ToolCall } from "./answer";
import { Composer } from "./Composer";
import type { Served } from "./catalogue";
import type { Ask, Json } from "./code";
import { messagesOf, openCalls, requestOf, type Turn, toolsIn } from "./conversation";
import { FigureStrip } from "./FigureStrip";
import { ModelChoice } from "./ModelChoice";
import { Progress } from "./Progress";
import type { Run } from "./run";
import { SamplingFields } from "./SamplingFields";
import { samplingOf } from "./search";
import { useRuns } from "./useRuns";
import { usePlayground, Workbench } from "./Workbench";

const EXAMPLE: Turn = { kind: "asked", text: "Hello!", pictures: [] };

/** What the code shows: the draft after all that was said, else what was sent last, else an example. */
function exampleOf(turns: Turn[], draft: Turn | null): Turn[] {
  if (draft !== null) return [...turns, draft];
  const sent = turns.findLastIndex(({ kind }) => kind !== "answered");
  return sent < 0 ? [EXAMPLE] : turns.slice(0, sent + 1);
}

export function ChatMode({ served, model }: { served: Served[]; model: string }) {
  const { t } = useTranslation();
  const { search, set } = usePlayground();
  const { runs, isBusy, ask, stop, forget } = useRuns();
  const [turns, setTurns] = useState<Turn[]>([]);
  const [draft, setDraft] = useState<Turn | null>(null);
  const [system, setSystem] = useState("");
  const [typedTools, setTypedTools] = useState("");
  const tools = toolsIn(typedTools);
  const request = (said: Turn[]) => requestOf(messagesOf(system, said), samplingOf(search), tools ?? []);

  const send = async (said: Turn[]) => {
    setTurns(said);
    const [run] = await ask([model], request(said));
    if (run !== undefined) setTurns([...said, { kind: "answered", run, model }]);
    forget();
  };
  const [running] = runs;
  const calls = isBusy ? [] : openCalls(turns);
  const shown: Ask = {
    kind: "chat",
    body: { model, ...(request(exampleOf(turns, draft)) as { [name: string]: Json }) },
  };
  return (
    <Workbench
      ask={shown}
      beside={
        <>
          <ModelChoice
            label={t("playground.model")}
            served={served}
            value={model}
            onPick={(picked) => set({ model: picked })}
          />
          <label className="field">
            {t("playground.system")}
            <textarea rows={3} value={system} onChange={(event) => setSystem(event.currentTarget.value)} />
          </label>
          <SamplingFields />
          <Tools typed={typedTools} isGood={tools !== null} onType={setTypedTools} />
        </>
      }
    >
      <Progress isBusy={isBusy} hasAnswer={turns.length > 0} />
      <Talk turns={turns} running={running} model={model} />
      {calls.length > 0 && (
        <Results calls={calls} onSend={(results) => void send([...turns, { kind: "results", results }])} />
      )}
      <Composer
        verb={t("playground.send")}
        isBusy={isBusy}
        isReady={model !== "" && tools !== null}
        onSend={(text, pictures) => void send([...turns, { kind: "asked", text, pictures }])}
        onStop={stop}
        onDraft={(text, pictures) =>
          setDraft(text === "" && pictures.length === 0 ? null : { kind: "asked", text, pictures })
        }
      />
      <TalkActs
        turns={turns}
        isBusy={isBusy}
        onClear={() => setTurns([])}
        onAgain={(said) => void send(said)}
      />
    </Workbench>
  );
}

const NEAR_END_PX = 48;

/** Keeps to the end while the reader is there. */
function Talk({ turns, running, model }: { turns: Turn[]; running: Run | undefined; model: string }) {
  const { t } = useTranslation();
  const room = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: every new word is a reason to scroll
  useLayoutEffect(() => {
    if (room.current !== null && isAtEnd.current) room.current.scrollTop = room.current.scrollHeight;
  }, [turns, running]);
  return (
    <section
      ref={room}
      className="card talk"
      tabIndex={0}
      aria-label={t("playground.conversation")}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
      }}
    >
      {turns.length === 0 && running === undefined && (
        <p className="soft talk-empty">{t("playground.conversationEmpty", { model })}</p>
      )}
      {turns.map((turn, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: turns are only ever added at the end
        <TurnView key={at} turn={turn} />
      ))}
      {running !== undefined && <Said run={running} model={model} />}
    </section>
  );
}

function TurnView({ turn }: { turn: Turn }) {
  const { t } = useTranslation();
  if (turn.kind === "answered") return <Said run={turn.run} model={turn.model} />;
  if (turn.kind === "results") {
    return turn.results.map(({ call, text }) => (
      <div className="asked" key={call.id}>
        <p className="who">{t("playground.result", { name: call.name })}</p>
        <p className="raw mono">{text}</p>
      </div>
    ));
  }
  return (
    <div className="asked">
      <p className="who">{t("playground.you")}</p>
      {turn.pictures.map((url, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same picture may stand there twice
        <img key={at} src={url} alt={t("playground.pictureOf", { number: at + 1 })} />
      ))}
      <p className="raw">{turn.text}</p>
    </div>
  );
}

function Said({ run, model }: { run: Run; model: string }) {
  return (
    <div className="said">
      <p className="who mono">{model}</p>
      <AnswerView run={run} model={model} />
      <FigureStrip run={run} />
    </div>
  );
}

function TalkActs(props: {
  turns: Turn[];
  isBusy: boolean;
  onClear: () => void;
  onAgain: (turns: Turn[]) => void;
}) {
  const { turns, isBusy, onClear, onAgain } = props;
  const { t } = useTranslation();
  if (turns.length === 0) return null;
  const before = turns.at(-1)?.kind === "answered" ? turns.slice(0, -1) : turns;
  return (
    <div className="actions talk-acts">
      <button type="button" className="quiet-button" disabled={isBusy} onClick={() => onAgain(before)}>
        {t("playground.again")}
      </button>
      <button type="button" className="quiet-button" disabled={isBusy} onClick={onClear}>
        {t("playground.clear")}
      </button>
      <span className="soft small push">{t("playground.measuredHere")}</span>
    </div>
  );
}

function Tools({
  typed,
  isGood,
  onType,
}: {
  typed: string;
  isGood: boolean;
  onType: (text: string) => void;
}) {
  const { t } = useTranslation();
  return (
    <label className="field">
      {t("playground.tools")}
      <textarea
        rows={4}
        className="mono"
        spellCheck={false}
        value={typed}
        aria-invalid={!isGood}
        aria-describedby="tools-help"
        onChange={(event) => onType(event.currentTarget.value)}
      />
      <span id="tools-help" className={isGood ? undefined : "trouble"}>
        {t(isGood ? "playground.toolsHelp" : "playground.toolsWrong")}
      </span>
    </label>
  );
}

interface ResultsProps {
  calls: ToolCall[];
  onSend: (results: { call: ToolCall; text: string }[]) => void;
}

function Results({ calls, onSend }: ResultsProps) {
  const { t } = useTranslation();
  const [texts, setTexts] = useState<Record<string, string>>({});
  return (
    <form
      className="card results"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(calls.map((call) => ({ call, text: texts[call.id] ?? "" })));
      }}
    >
      {calls.map((call) => (
        <label className="field" key={call.id}>
          {t("playground.result", { name: call.name })}
          <textarea
            rows={2}
            className="mono"
            value={texts[call.id] ?? ""}
            onChange={(event) => setTexts({ ...texts, [call.id]: event.currentTarget.value })}
          />
        </label>
      ))}
      <div className="actions">
        <button type="submit" className="button push">
          {t("playground.sendResults")}
        </button>
      </div>
    </form>
  );
}
