// What is done with several deployments at once; what breaks is named for each of them.

import { useQueries } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api/client";
import { Confirm } from "../parts/Confirm";
import { Refused } from "../parts/Refused";
import { useAct } from "../parts/useAct";
import { useQuestion } from "../parts/useQuestion";
import { usePlatform } from "../platform";
import type { DeploymentRow } from "./fleet";
import { type Impact, impactPath, impactSentences } from "./impact";

type Verb = "start" | "stop" | "delete";

export function Bulk({ rows, onDone }: { rows: DeploymentRow[]; onDone: () => void }) {
  const { t } = useTranslation();
  const send = useSend(rows);
  const { act, isBusy, error } = useAct();
  const [question, ask, close] = useQuestion<"stop" | "delete">();
  const names = rows.map(({ model }) => model.name).join(", ");
  return (
    <section className="bulk" aria-label={t("deployments.bulk")}>
      <strong>{t("deployments.picked", { count: rows.length })}</strong>
      <span className="soft cut">{names}</span>
      <div className="actions push">
        <button
          type="button"
          className="button"
          disabled={isBusy}
          onClick={async () => {
            if (await act(() => send("start"))) onDone();
          }}
        >
          {t("acts.start")}
        </button>
        <button type="button" className="button" onClick={() => ask("stop")}>
          {t("acts.stop")}
        </button>
        <button type="button" className="button is-bad" onClick={() => ask("delete")}>
          {t("acts.delete")}
        </button>
      </div>
      <Refused error={error} />
      {question !== null && (
        <Ask
          rows={rows}
          verb={question}
          onClose={close}
          onConfirm={async () => {
            await send(question);
            onDone();
          }}
        />
      )}
    </section>
  );
}

/** One after the other; those that were refused are named with the server's sentence, the others are done. */
function useSend(rows: DeploymentRow[]) {
  const { api } = usePlatform();
  return async (verb: Verb) => {
    const refused: string[] = [];
    for (const { model } of rows) {
      const path = `/api/v1/models/${encodeURIComponent(model.name)}`;
      try {
        await (verb === "delete" ? api.delete(path) : api.post(`${path}/${verb}`));
      } catch (failure) {
        if (!(failure instanceof ApiError) || failure.status === 0) throw failure;
        refused.push(`${model.name}: ${failure.message}`);
      }
    }
    if (refused.length > 0) throw new ApiError(409, refused.join("\n"));
  };
}

interface AskProps {
  rows: DeploymentRow[];
  verb: "stop" | "delete";
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

function Ask({ rows, verb, onConfirm, onClose }: AskProps) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const impacts = useQueries({
    queries: rows.map(({ model: { name } }) => ({
      queryKey: ["impact", name],
      retry: false,
      queryFn: () => api.get<Impact>(impactPath(name)),
    })),
  });
  const consequences = rows.map(({ model: { name, ready_replicas: count } }, at) => {
    const serves = count === 0 ? t("acts.nothingServes") : t("acts.breaks", { count });
    return `${name}: ${[serves, ...impactSentences(impacts[at]?.data, t)].join(" ")}`;
  });
  return (
    <Confirm
      title={t(`deployments.${verb}Title`, { count: rows.length })}
      consequences={[...consequences, t(verb === "stop" ? "acts.stopKeeps" : "acts.deleteTakes")]}
      verb={t(`acts.${verb}`)}
      onConfirm={onConfirm}
      onClose={onClose}
    />
  );
}
