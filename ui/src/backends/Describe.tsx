// An engine that an operator describes: what is run, what it needs, how it is asked.

import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Dialog } from "../parts/Dialog";
import { Refused } from "../parts/Refused";
import { useAct } from "../parts/useAct";
import { usePlatform } from "../platform";

const EXAMPLE = {
  name: "mine",
  command: ["my-engine", "--model", "{model_path}", "--port", "{port}"],
  claim: { ram_bytes: 2_000_000_000 },
  probe: { path: "/health" },
  paths: ["/v1/chat/completions"],
};

export function Describe({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const { api, queries } = usePlatform();
  const { act, isBusy, error } = useAct();
  const [text, setText] = useState(() => JSON.stringify(EXAMPLE, null, 2));
  const [fault, setFault] = useState<string | null>(null);
  const send = async () => {
    const { value, why } = parsed(text);
    setFault(why === null ? null : t("engines.notJson", { why }));
    if (why !== null) return;
    const isDone = await act(async () => {
      await api.post("/api/v1/backends", value);
      await queries.invalidateQueries({ queryKey: ["backends"] });
    });
    if (isDone) onClose();
  };
  return (
    <Dialog title={t("engines.describeTitle")} onClose={onClose}>
      <p className="sentence">
        {t("engines.describeText")} {t("engines.describeAt")}
      </p>
      <label className="field">
        {t("engines.description")}
        <textarea
          className="mono"
          rows={14}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <Refused error={fault ?? error} />
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          {t("common.cancel")}
        </button>
        <button type="button" className="button is-main" disabled={isBusy} onClick={() => void send()}>
          {t("engines.create")}
        </button>
      </div>
    </Dialog>
  );
}

function parsed(text: string): { value: unknown; why: string | null } {
  try {
    return { value: JSON.parse(text), why: null };
  } catch (error) {
    return { value: null, why: error instanceof Error ? error.message : String(error) };
  }
}
