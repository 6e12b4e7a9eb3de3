import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Instance } from "../api/types";
import { useInstances } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { type Log, TAIL_LINES, useLog } from "./useLog";

export function LogsPage() {
  const { t } = useTranslation();
  const { id } = useParams({ from: "/instances/$id/logs" });
  const { attempt = null } = useSearch({ from: "/instances/$id/logs" });
  const [follow, setFollow] = useState(true);
  const instance = useInstances().data?.items.find((each) => String(each.id) === id);
  const log = useLog(id, attempt, follow);
  usePageTitle(t("logs.title", { id }));
  return (
    <>
      {instance !== undefined && (
        <p className="back">
          <Link to="/models/$" params={{ _splat: instance.model }}>
            ← {t("logs.back", { model: instance.model })}
          </Link>
        </p>
      )}
      <div className="page-head">
        <h1>{t("logs.title", { id })}</h1>
      </div>
      <div className="toolbar">
        {instance !== undefined && <AttemptChoice instance={instance} shown={attempt ?? instance.attempt} />}
        <label>
          <input
            type="checkbox"
            checked={follow}
            onChange={(event) => setFollow(event.currentTarget.checked)}
          />
          {t("logs.follow")}
        </label>
        <span className="soft small">{t("logs.tail", { count: TAIL_LINES })}</span>
      </div>
      <LogText log={log} />
    </>
  );
}

function AttemptChoice({ instance, shown }: { instance: Instance; shown: number }) {
  const { t } = useTranslation();
  const navigate = useNavigate({ from: "/instances/$id/logs" });
  const show = (attempt: number) =>
    void navigate({ search: attempt === instance.attempt ? {} : { attempt } });
  return (
    <label>
      {t("logs.attempt")}
      <select value={shown} onChange={(event) => show(Number(event.currentTarget.value))}>
        {instance.attempts.map((attempt) => (
          <option key={attempt}>{attempt}</option>
        ))}
      </select>
    </label>
  );
}

const NEAR_END_PX = 24;

/** Keeps to the end while the reader is there, and leaves him where he is once he scrolled up. */
function LogText({ log }: { log: Log }) {
  const { t } = useTranslation();
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: every new text is a reason to scroll
  useLayoutEffect(() => {
    if (box.current !== null && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [log.text]);
  const onScroll = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: React.UIEvent) => {
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
  };
  return (
    <>
      <pre
        ref={box}
        className="log"
        role="log"
        aria-live="off"
        tabIndex={0}
        aria-label={t("logs.text")}
        onScroll={onScroll}
      >
        {log.text}
      </pre>
      <p className="sentence" role="status">
        {log.error ?? (log.isOver ? t(log.text === "" ? "logs.empty" : "logs.ended") : "")}
      </p>
    </>
  );
}
