// An answer as it stands: what was thought (folded), what was said, which tools are called, what went wrong.

import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";
import { AnswerFailed } from "./AnswerFailed";
import { isBlank, type ToolCall } from "./answer";
import type { Run } from "./run";

const Markdown = lazy(() => import("./Markdown"));

export function AnswerView({ run, model }: { run: Run; model: string }) {
  const { t } = useTranslation();
  const { answer, ended } = run;
  const isWaiting = ended === null && isBlank(answer);
  return (
    <div className="answer" aria-busy={ended === null}>
      {isWaiting && <p className="soft waiting">{t("playground.waiting")}</p>}
      {answer.reasoning !== "" && (
        <details className="reasoning">
          <summary>
            {t(ended === null && answer.text === "" ? "playground.thinking" : "playground.reasoning")}
          </summary>
          <p>{answer.reasoning}</p>
        </details>
      )}
      {answer.text !== "" && (
        <div className="markdown">
          <Suspense fallback={<p className="raw">{answer.text}</p>}>
            <Markdown text={answer.text} />
          </Suspense>
        </div>
      )}
      {answer.calls.map((call) => (
        <Call key={call.id} call={call} />
      ))}
      {answer.finish === "stopped" && <p className="sentence">{t("playground.stopped")}</p>}
      {answer.finish === "length" && <p className="sentence">{t("playground.cutAt")}</p>}
      {answer.failure !== null && <AnswerFailed failure={answer.failure} model={model} />}
    </div>
  );
}

function Call({ call }: { call: ToolCall }) {
  const { t } = useTranslation();
  return (
    <section className="call" aria-label={t("playground.call", { name: call.name })}>
      <p className="small">{t("playground.call", { name: call.name })}</p>
      <pre>{call.arguments}</pre>
    </section>
  );
}
