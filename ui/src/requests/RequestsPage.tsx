// One row for each request, without its text: what became of it, why, and where the time went.

import "./requests.css";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Fragment } from "react";
import { useTranslation } from "react-i18next";
import { platformAddress } from "../base";
import { seconds } from "../format";
import { programFor } from "../models/UseIt";
import { Command } from "../parts/Command";
import { Loaded } from "../parts/Loaded";
import { Mark, type Shape, type Tone } from "../parts/StateMark";
import { useMe } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { Details } from "./Details";
import { Filters } from "./Filters";
import { isNarrowed, type RequestsSearch } from "./search";
import { type Outcome, outcomeOf, type RequestRow } from "./times";
import { useRequests } from "./useRequests";

const LOOKS: Record<Outcome, [Shape, Tone]> = {
  answered: ["check", "ok"],
  refused: ["slash", "wait"],
  broken: ["cross", "bad"],
  left: ["square", "off"],
};

export function RequestsPage() {
  const { t } = useTranslation();
  const search: RequestsSearch = useSearch({ from: "/requests" });
  const me = useMe();
  const query = useRequests(search);
  usePageTitle(t("requests.title"));
  const isAdmin = me.data?.role === "admin";
  return (
    <>
      <div className="page-head">
        <h1>{t("requests.title")}</h1>
        {query.data !== undefined && (
          <span className="soft">
            {t("requests.count", {
              shown: query.data.pages.reduce((sum, { items }) => sum + items.length, 0),
              total: query.data.pages[0]?.total ?? 0,
            })}
          </span>
        )}
      </div>
      <p className="sentence requests-intro">
        {t("requests.intro")} {me.data !== undefined && !isAdmin && t("requests.own")}
      </p>
      <Filters search={search} isAdmin={isAdmin} />
      <Loaded query={query}>
        {({ pages }) => {
          const rows = pages.flatMap(({ items }) => items);
          if (rows.length === 0) return <NoRequests isNarrowed={isNarrowed(search)} />;
          return (
            <>
              <Rows rows={rows} open={search.open} />
              {query.hasNextPage && (
                <p>
                  <button
                    type="button"
                    className="button"
                    disabled={query.isFetchingNextPage}
                    onClick={() => void query.fetchNextPage()}
                  >
                    {t("requests.more")}
                  </button>
                </p>
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function NoRequests({ isNarrowed }: { isNarrowed: boolean }) {
  const { t } = useTranslation();
  if (isNarrowed) return <p className="soft">{t("requests.none")}</p>;
  return (
    <section className="empty">
      <h2>{t("requests.empty")}</h2>
      <p>{t("requests.emptyText")}</p>
      <Command label={t("requests.empty")} text={programFor("curl", "MODEL", platformAddress())} />
    </section>
  );
}

function Rows({ rows, open }: { rows: RequestRow[]; open: string | undefined }) {
  const { t } = useTranslation();
  return (
    <section className="card scroll" tabIndex={0} aria-label={t("requests.title")}>
      <table className="requests">
        <thead>
          <tr>
            <th>{t("requests.time")}</th>
            <th>{t("requests.model")}</th>
            <th>{t("requests.outcome")}</th>
            <th>
              {t("requests.user")} · {t("requests.key")}
            </th>
            <th className="number">{t("requests.ttft")}</th>
            <th className="number">{t("requests.took")}</th>
            <th className="number">{t("requests.tokens")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Fragment key={row.request_id}>
              <Row row={row} isOpen={row.request_id === open} />
              {row.request_id === open && (
                <tr className="opened">
                  <td colSpan={7}>
                    <Details row={row} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Row({ row, isOpen }: { row: RequestRow; isOpen: boolean }) {
  const { t, i18n } = useTranslation();
  const navigate = useNavigate({ from: "/requests" });
  const outcome = outcomeOf(row);
  const toggle = () =>
    void navigate({
      search: ({ open: _, ...held }: RequestsSearch) => (isOpen ? held : { ...held, open: row.request_id }),
      replace: true,
    });
  return (
    <tr data-request={row.request_id} data-status={row.status}>
      <td>
        <button
          type="button"
          className="row-opener"
          aria-expanded={isOpen}
          title={t("requests.details", { id: row.request_id })}
          onClick={toggle}
        >
          <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
            <path
              d={isOpen ? "M1 3l4 4 4-4" : "M3 1l4 4-4 4"}
              fill="none"
              stroke="currentColor"
              strokeWidth="1.6"
            />
          </svg>
          {whenOf(row.started_at, i18n.language)}
        </button>
      </td>
      <td className="name-cell">{row.public_name ?? row.model}</td>
      <td>
        <span className="outcome">
          <Mark look={LOOKS[outcome]} word={t(`requests.outcomes.${outcome}`)} />
          <span className="soft small">{row.status}</span>
        </span>
        {row.why !== null && <p className="sentence">{row.why.message}</p>}
      </td>
      <td>
        {row.user ?? t("common.none")}
        <div className="soft small">{row.key ?? t("requests.session")}</div>
      </td>
      <td className="number">{row.ttft_seconds === null ? t("common.none") : brief(row.ttft_seconds)}</td>
      <td className="number">{brief(row.seconds)}</td>
      <td className="number">
        {row.prompt_tokens === null && row.completion_tokens === null
          ? t("common.none")
          : t("requests.tokensOf", { in: row.prompt_tokens ?? "?", out: row.completion_tokens ?? "?" })}
      </td>
    </tr>
  );
}

function whenOf(moment: string, language: string): string {
  return new Intl.DateTimeFormat(language, {
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  }).format(new Date(moment));
}

export function brief(count: number): string {
  return count < 1 ? `${Math.round(count * 1000)} ms` : seconds(count);
}
