// What can be done with a deployment; whatever ends something says first what it ends.

import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Instance, Model } from "../api/types";
import { Confirm } from "../parts/Confirm";
import { Dialog } from "../parts/Dialog";
import { Refused } from "../parts/Refused";
import { useAct } from "../parts/useAct";
import { useQuestion } from "../parts/useQuestion";
import { useMe, usePlatform } from "../platform";
import { useConsequences } from "./impact";

export function ModelActs({ model, instances }: { model: Model; instances: Instance[] }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const navigate = useNavigate();
  const me = useMe();
  const { act, isBusy, error } = useAct();
  const [question, ask, close] = useQuestion<"scale" | "stop" | "delete">();
  const impact = useConsequences(model.name, question === "stop" || question === "delete");
  if (me.data?.role !== "admin") return null;
  const path = `/api/v1/models/${encodeURIComponent(model.name)}`;
  const ready = instances.filter(({ state }) => state === "ready").length;
  const breaks = ready === 0 ? [t("acts.nothingServes")] : [t("acts.breaks", { count: ready })];
  const gaveUp = instances.some(({ gave_up }) => gave_up);
  const isStopped = model.state === "stopped" || model.state === "sleeping";
  const remove = async () => {
    await api.delete(path);
    await navigate({ to: "/models" });
  };
  return (
    <div className="actions push">
      {(isStopped || gaveUp) && (
        <button
          type="button"
          className="button"
          disabled={isBusy}
          onClick={() => void act(() => api.post(`${path}/start`))}
        >
          {t(gaveUp ? "acts.again" : "acts.start")}
        </button>
      )}
      {!isStopped && (
        <>
          <button type="button" className="button" onClick={() => ask("scale")}>
            {t("acts.scale")}
          </button>
          <button type="button" className="button" onClick={() => ask("stop")}>
            {t("acts.stop")}
          </button>
        </>
      )}
      <button type="button" className="button is-bad" onClick={() => ask("delete")}>
        {t("acts.delete")}
      </button>
      <Refused error={error} />
      {question === "scale" && <Scale model={model} path={path} onClose={close} />}
      {question === "stop" && (
        <Confirm
          title={t("acts.stopTitle", { model: model.name })}
          consequences={[...breaks, ...impact, t("acts.stopKeeps")]}
          verb={t("acts.stop")}
          onConfirm={() => api.post(`${path}/stop`)}
          onClose={close}
        />
      )}
      {question === "delete" && (
        <Confirm
          title={t("acts.deleteTitle", { model: model.name })}
          consequences={[...breaks, ...impact, t("acts.deleteTakes")]}
          verb={t("acts.delete")}
          onConfirm={remove}
          onClose={close}
        />
      )}
    </div>
  );
}

function Scale({ model, path, onClose }: { model: Model; path: string; onClose: () => void }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const { act, isBusy, error } = useAct();
  const [replicas, setReplicas] = useState(String(model.replicas));
  const send = async () => {
    if (await act(() => api.patch(path, { replicas: Number.parseInt(replicas, 10) }))) onClose();
  };
  return (
    <Dialog title={t("acts.scaleTitle", { model: model.name })} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label className="field">
          {t("acts.replicas")}
          <input
            type="number"
            min={0}
            max={1000}
            required
            value={replicas}
            onChange={(event) => setReplicas(event.currentTarget.value)}
          />
        </label>
        <p className="sentence">{t("acts.scaleNote")}</p>
        <Refused error={error} />
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            {t("common.cancel")}
          </button>
          <button type="submit" className="button is-main" disabled={isBusy}>
            {t("acts.scale")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
