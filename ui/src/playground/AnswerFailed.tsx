// Why there is no answer, as a sentence, and what can be done about it.

import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Failure } from "./answer";
import { remedyOf } from "./conversation";

const OWN_SENTENCES = { connection_lost: "lost", not_understood: "notUnderstood" } as const;
const LEADS_TO_MODEL = new Set(["notReady", "logs"]);

export function AnswerFailed({ failure, model }: { failure: Failure; model: string }) {
  const { t } = useTranslation();
  const remedy = remedyOf(failure);
  const own = OWN_SENTENCES[failure.code as keyof typeof OWN_SENTENCES];
  const sentence = [own === undefined ? "" : t(`playground.${own}`), failure.sentence]
    .filter(Boolean)
    .join(" ");
  return (
    <div className="notice is-bad" role="alert">
      <p>{sentence || t("playground.unreachable")}</p>
      <p className="small soft">
        {t(`playground.remedies.${remedy}`)}{" "}
        {LEADS_TO_MODEL.has(remedy) && (
          <Link to="/models/$" params={{ _splat: model }}>
            {t("playground.toModel", { model })}
          </Link>
        )}
      </p>
    </div>
  );
}
