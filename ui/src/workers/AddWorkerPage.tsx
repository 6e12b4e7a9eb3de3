// A line to paste, and the new worker seen arriving step by step.

import "./workers.css";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { JoinToken, Worker } from "../api/types";
import { clockTime } from "../format";
import { Command } from "../parts/Command";
import { Refused } from "../parts/Refused";
import { ShapeIcon } from "../parts/StateMark";
import { useAct } from "../parts/useAct";
import { useDevices, usePlatform, useWorkers } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { failedTool, newcomer, type Progress, progressOf, STEPS, type Step } from "./arrival";
import { devicesOf } from "./capacity";
import { byChip } from "./fleet";

const HARDWARE = ["910b", "a3", "310p", "cuda", "cpu"] as const;
type Hardware = (typeof HARDWARE)[number];

interface Line extends JoinToken {
  /** The workers that were there when it was made. */
  known: ReadonlySet<number>;
}

export function AddWorkerPage() {
  const { t, i18n } = useTranslation();
  const { api } = usePlatform();
  const workers = useWorkers();
  const { act, isBusy, error } = useAct();
  const [hardware, setHardware] = useState<Hardware>("910b");
  const [line, setLine] = useState<Line | null>(null);
  usePageTitle(t("fleet.addTitle"));
  const make = () =>
    act(async () => {
      const known = new Set((workers.data?.items ?? []).map(({ id }) => id));
      setLine({ ...(await api.post<JoinToken>("/api/v1/workers/token")), known });
    });
  return (
    <>
      <p className="back">
        <Link to="/workers">← {t("fleet.back")}</Link>
      </p>
      <div className="page-head">
        <h1>{t("fleet.addTitle")}</h1>
      </div>
      <Choice chosen={hardware} onChoose={setHardware} />
      <p className="sentence">{t(`fleet.needs.${hardware}`)}</p>
      <section>
        <p className="notice">{t("fleet.otherHost")}</p>
      </section>
      <section>
        <button type="button" className="button is-main" disabled={isBusy} onClick={() => void make()}>
          {t(line === null ? "fleet.makeLine" : "fleet.another")}
        </button>
        <Refused error={error} />
      </section>
      {line !== null && (
        <>
          <section aria-label={t("fleet.paste")}>
            <h2>{t("fleet.paste")}</h2>
            <Command label={t("fleet.paste")} text={line.command} />
            <p className="sentence">
              {t("fleet.pasteNote", { time: clockTime(line.expires_at, i18n.language) })}
            </p>
            <p className="sentence">{t("fleet.checkFirst")}</p>
            <Command label={t("fleet.checkFirst")} text="gpustack-lite doctor" />
          </section>
          <Arrival worker={newcomer(workers.data?.items ?? [], line.known)} />
        </>
      )}
    </>
  );
}

function Choice({ chosen, onChoose }: { chosen: Hardware; onChoose: (hardware: Hardware) => void }) {
  const { t } = useTranslation();
  return (
    <fieldset className="hardware">
      <legend>{t("fleet.hardware")}</legend>
      {HARDWARE.map((each) => (
        <label key={each}>
          <input type="radio" name="hardware" checked={each === chosen} onChange={() => onChoose(each)} />
          {t(`fleet.hardwares.${each}`)}
        </label>
      ))}
    </fieldset>
  );
}

const LOOKS = { waiting: ["turning", "busy"], done: ["check", "ok"], failed: ["cross", "bad"] } as const;

function Arrival({ worker }: { worker: Worker | undefined }) {
  const { t } = useTranslation();
  const devices = useDevices();
  const mine = worker === undefined ? [] : devicesOf(worker, devices.data);
  const tool = failedTool(worker);
  const chips = byChip(mine).map(({ chip, devices: count }) => `${count} × ${chip}`);
  const said = (step: Step, progress: Progress): string => {
    if (progress === "waiting") return t("fleet.stepWaiting");
    if (step === "contact") return worker?.name ?? "";
    if (step === "tools") return [tool?.said?.message, tool?.remedy?.message].filter(Boolean).join(" → ");
    if (step !== "devices") return "";
    return mine.length === 0
      ? t("fleet.stepNoDevices")
      : t("fleet.stepDevices", { count: mine.length, chips: chips.join(", ") });
  };
  return (
    <section aria-label={t("fleet.waiting")} aria-live="polite">
      <h2>{worker?.name ?? t("fleet.waiting")}</h2>
      <ol className="card arrival">
        {STEPS.map((step) => {
          const progress = progressOf(step, worker, mine);
          const [shape, tone] = LOOKS[progress];
          return (
            <li key={step} data-step={step} data-progress={progress}>
              <ShapeIcon shape={shape} tone={tone} />
              <span>{t(`fleet.steps.${step}`)}</span>
              <span className="soft">{said(step, progress)}</span>
            </li>
          );
        })}
      </ol>
      {worker !== undefined && (
        <p>
          <Link to="/workers/$name" params={{ name: worker.name }}>
            {t("fleet.toWorker", { worker: worker.name })}
          </Link>
        </p>
      )}
    </section>
  );
}
