// A log as one reads it: at its end while it grows, where one is once one scrolled up; only lines in view exist.

import "./logs.css";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api/client";
import type { Instance } from "../api/types";
import { clockTime } from "../format";
import { Refused } from "../parts/Refused";
import { saveText } from "../parts/saveText";
import { useAct } from "../parts/useAct";
import { usePlatform } from "../platform";
import { found, type Line, type Log, MOST_LINES, pathOf, TAIL_LINES, useLog } from "./useLog";

interface Props {
  instance: Instance;
  /** Undefined: the present one, and the next when it starts. */
  attempt: number | undefined;
  onAttempt: (attempt: number | undefined) => void;
  /** More choices, such as the instance. */
  children?: React.ReactNode;
}

export function LogView({ instance, attempt, onAttempt, children }: Props) {
  const { t } = useTranslation();
  const [isWhole, setWhole] = useState(false);
  const [follow, setFollow] = useState(true);
  const [showsTimes, setShowsTimes] = useState(false);
  const [sought, setSought] = useState("");
  const shown = attempt ?? instance.attempt;
  const log = useLog(instance.id, shown, attempt !== undefined, isWhole ? MOST_LINES : TAIL_LINES);
  const lines = found(log.lines, useDeferredValue(sought));
  return (
    <>
      <div className="toolbar">
        {children}
        <label>
          {t("logs.attempt")}
          <select
            value={shown}
            onChange={(event) => {
              const chosen = Number(event.currentTarget.value);
              onAttempt(chosen === instance.attempt ? undefined : chosen);
            }}
          >
            {instance.attempts.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <input
          className="search"
          type="search"
          aria-label={t("logs.search")}
          placeholder={t("logs.search")}
          value={sought}
          onChange={(event) => setSought(event.currentTarget.value)}
        />
        <label>
          <input
            type="checkbox"
            checked={follow}
            onChange={(event) => setFollow(event.currentTarget.checked)}
          />
          {t("logs.follow")}
        </label>
        <label title={t("logs.timesHelp")}>
          <input
            type="checkbox"
            checked={showsTimes}
            onChange={(event) => setShowsTimes(event.currentTarget.checked)}
          />
          {t("logs.times")}
        </label>
        <Download instance={instance} attempt={shown} />
      </div>
      <Lines lines={lines} sought={sought} follow={follow} onFollow={setFollow} showsTimes={showsTimes} />
      <p className="sentence log-said" role="status">
        <span>{saidOf(log, t)}</span>{" "}
        {sought === "" ? (
          <span>{t("logs.count", { count: log.lines.length })}</span>
        ) : (
          <span>{t("logs.found", { count: lines.length, all: log.lines.length })}</span>
        )}{" "}
        {!isWhole && log.lines.length >= TAIL_LINES && (
          <button type="button" className="quiet-button" onClick={() => setWhole(true)}>
            {t("logs.whole")}
          </button>
        )}
      </p>
    </>
  );
}

function saidOf(log: Log, t: (key: "logs.empty" | "logs.ended" | "logs.growing") => string): string {
  if (log.error !== null) return log.error;
  if (!log.isOver) return t("logs.growing");
  return t(log.lines.length === 0 ? "logs.empty" : "logs.ended");
}

function Download({ instance, attempt }: { instance: Instance; attempt: number }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const { act, isBusy, error } = useAct();
  const save = () =>
    act(async () => {
      const answer = await api.open(pathOf(instance.id, attempt, MOST_LINES, false));
      const text = await answer.text().catch(() => {
        throw new ApiError(0, "");
      });
      const model = instance.model.replace(/[^\w.-]+/g, "-");
      saveText(`${model}-${instance.id}-${attempt}.log`, text, "text/plain;charset=utf-8");
    });
  return (
    <>
      <button type="button" className="quiet-button push" disabled={isBusy} onClick={() => void save()}>
        {t("logs.download")}
      </button>
      <Refused error={error} />
    </>
  );
}

const LINE_HEIGHT = 20;
const BEYOND = 20;
const NEAR_END_PX = 24;

interface LinesProps {
  lines: readonly Line[];
  sought: string;
  follow: boolean;
  onFollow: (follow: boolean) => void;
  showsTimes: boolean;
}

function Lines({ lines, sought, follow, onFollow, showsTimes }: LinesProps) {
  const { t, i18n } = useTranslation();
  const room = useRef<HTMLDivElement>(null);
  const top = useRef(0);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => room.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: BEYOND,
  });
  const height = virtual.getTotalSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: every new line is a reason to scroll
  useLayoutEffect(() => {
    const box = room.current;
    if (box === null || !follow) return;
    box.scrollTop = box.scrollHeight;
    top.current = box.scrollTop;
  }, [lines, height, follow]);
  const onScroll = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: React.UIEvent) => {
    const isUp = scrollTop < top.current - 1;
    top.current = scrollTop;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    if (isUp && !isAtEnd) onFollow(false);
    else if (isAtEnd && !follow) onFollow(true);
  };
  return (
    <div
      ref={room}
      className="log"
      role="log"
      aria-live="off"
      tabIndex={0}
      aria-label={t("logs.text")}
      onScroll={onScroll}
    >
      <div className="log-room" style={{ height }}>
        <div
          className="log-lines"
          style={{ transform: `translateY(${virtual.getVirtualItems()[0]?.start ?? 0}px)` }}
        >
          {virtual.getVirtualItems().map(({ index }) => {
            const line = lines[index];
            if (line === undefined) return null;
            if (line.attempt !== undefined) {
              return (
                <div key={index} className="log-attempt">
                  {t("logs.nextAttempt", { attempt: line.attempt })}
                </div>
              );
            }
            return (
              <div key={index}>
                {showsTimes && (
                  <span className="log-time">
                    {line.at === null ? "        " : clockTime(line.at, i18n.language)}{" "}
                  </span>
                )}
                <Marked text={line.text} sought={sought} />
                {"\n"}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function Marked({ text, sought }: { text: string; sought: string }) {
  const at = sought === "" ? -1 : text.toLowerCase().indexOf(sought.toLowerCase());
  if (at < 0) return text;
  const end = at + sought.length;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, end)}</mark>
      {text.slice(end)}
    </>
  );
}
