// The form of the modes whose answer comes whole: fields, a verb, and what went wrong.

import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { AnswerFailed } from "./AnswerFailed";
import type { Asked } from "./useAsked";

interface Props {
  asked: Pick<Asked<unknown>, "failure" | "isBusy" | "stop">;
  verb: string;
  model: string;
  isReady: boolean;
  onSend: () => void;
  children: ReactNode;
}

export function AskForm({ asked, verb, model, isReady, onSend, children }: Props) {
  const { t } = useTranslation();
  return (
    <form
      className="card ask"
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      {children}
      {asked.failure !== null && <AnswerFailed failure={asked.failure} model={model} />}
      <div className="actions">
        {asked.isBusy && (
          <span className="soft small" role="status">
            {t("playground.working")}
          </span>
        )}
        {asked.isBusy ? (
          <button type="button" className="button push" onClick={asked.stop}>
            {t("playground.stop")}
          </button>
        ) : (
          <button type="submit" className="button is-main push" disabled={!isReady}>
            {verb}
          </button>
        )}
      </div>
    </form>
  );
}
