// Who changed what, and whether the log of it is whole.

import "../access/access.css";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";
import type { components } from "../api/schema.gen";
import type { Page } from "../api/types";
import { BASE } from "../base";
import { dateTime } from "../format";
import { Loaded } from "../parts/Loaded";
import { Refused } from "../parts/Refused";
import { useAct } from "../parts/useAct";
import { usePlatform } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { changed } from "./changed";

type Row = components["schemas"]["AuditShape"];
type Check = components["schemas"]["AuditCheck"];
const SHOWN = 100;
const route = getRouteApi("/audit");

export function AuditPage() {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const navigate = useNavigate();
  const { q = "" } = route.useSearch();
  const sought = useDeferredValue(q);
  const rows = useQuery({
    queryKey: ["audit", sought],
    placeholderData: keepPreviousData,
    staleTime: 0,
    queryFn: ({ signal }) =>
      api.get<Page<Row>>(
        `/api/v1/audit?${new URLSearchParams({ limit: String(SHOWN), ...(sought ? { q: sought } : {}) })}`,
        signal,
      ),
  });
  usePageTitle(t("access.audit.title"));
  return (
    <>
      <div className="page-head">
        <h1>{t("access.audit.title")}</h1>
        <a className="button push" href={`${BASE}/api/v1/audit/export?format=csv`} download="audit.csv">
          {t("access.audit.csv")}
        </a>
      </div>
      <p className="sentence">{t("access.audit.intro")}</p>
      <div className="toolbar">
        <input
          className="search"
          type="search"
          size={38}
          aria-label={t("access.audit.filter")}
          placeholder={t("access.audit.filter")}
          value={q}
          onChange={({ currentTarget: { value } }) =>
            void navigate({ to: "/audit", search: value === "" ? {} : { q: value }, replace: true })
          }
        />
        <ChainCheck />
      </div>
      <Loaded query={rows}>
        {({ items, total }) =>
          items.length === 0 ? (
            <p className="soft">{t("access.audit.empty")}</p>
          ) : (
            <>
              <AuditTable rows={items} />
              {total > items.length && (
                <p className="sentence">{t("access.audit.newest", { count: items.length, total })}</p>
              )}
            </>
          )
        }
      </Loaded>
    </>
  );
}

function ChainCheck() {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const { act, isBusy, error } = useAct();
  const [check, setCheck] = useState<Check | null>(null);
  return (
    <div className="chain" aria-live="polite">
      <button
        type="button"
        className="button"
        disabled={isBusy}
        onClick={() => void act(async () => setCheck(await api.get<Check>("/api/v1/audit/verify")))}
      >
        {t("access.audit.check")}
      </button>
      <Refused error={error} />
      {check !== null && (
        <span className={check.ok ? "mono small" : "trouble"}>
          {check.ok
            ? t("access.audit.whole", { count: check.checked, head: check.head })
            : t("access.audit.broken", { why: check.fault?.message ?? "" })}
        </span>
      )}
    </div>
  );
}

function AuditTable({ rows }: { rows: Row[] }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<number | null>(null);
  return (
    <section className="card scroll" aria-label={t("access.audit.title")}>
      <table>
        <thead>
          <tr>
            <th>{t("access.audit.at")}</th>
            <th>{t("access.audit.who")}</th>
            <th>{t("access.audit.action")}</th>
            <th>{t("access.audit.what")}</th>
            <th>{t("access.audit.from")}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <AuditLines
              key={row.id}
              row={row}
              isOpen={open === row.id}
              onToggle={() => setOpen(open === row.id ? null : row.id)}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function AuditLines({ row, isOpen, onToggle }: { row: Row; isOpen: boolean; onToggle: () => void }) {
  const { t, i18n } = useTranslation();
  const difference = changed(row.before, row.after);
  return (
    <>
      <tr data-audit={`${row.action} ${row.kind} ${row.name}`}>
        <td>{dateTime(row.at, i18n.language)}</td>
        <td>
          {row.actor} <span className="soft small">{row.carrier}</span>
        </td>
        <td className="mono">{row.action}</td>
        <td>
          {row.kind} <span className="name">{row.name}</span>
        </td>
        <td className="mono small">{row.address}</td>
        <td>
          {(row.before !== null || row.after !== null) && (
            <button type="button" className="quiet-button" aria-expanded={isOpen} onClick={onToggle}>
              {t(isOpen ? "access.audit.hide" : "access.audit.show")}
              <span className="hidden">{` ${row.id}`}</span>
            </button>
          )}
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={6}>
            <div className="change">
              <Side title={t("access.audit.before")} content={difference.before} />
              <Side title={t("access.audit.after")} content={difference.after} />
            </div>
          </td>
        </tr>
      )}
    </>
  );
}

function Side({ title, content }: { title: string; content: Record<string, unknown> | null }) {
  return (
    <section aria-label={title}>
      <span className="soft small">{title}</span>
      <pre>{content === null ? "–" : JSON.stringify(content, null, 2)}</pre>
    </section>
  );
}
