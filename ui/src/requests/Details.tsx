// One request from near: why it ended so, where its time went, and who served it.

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Command } from "../parts/Command";
import { brief } from "./RequestsPage";
import { paceOf, type RequestRow, stretchesOf } from "./times";

export function Details({ row }: { row: RequestRow }) {
  const { t } = useTranslation();
  const pace = paceOf(row);
  return (
    <div className="details">
      <p>{row.why?.message ?? t("requests.fine")}</p>
      <Times row={row} />
      <dl className="facts">
        <Fact name={t("requests.whereTo")} value={<code>{row.path}</code>} />
        <Fact
          name={t("requests.stream")}
          value={t(row.is_stream ? "requests.isStream" : "requests.isWhole")}
        />
        <Fact
          name={t("requests.model")}
          value={
            <Link to="/models/$" params={{ _splat: row.model }}>
              {row.model}
            </Link>
          }
        />
        {row.public_name !== null && row.public_name !== row.model && (
          <Fact name={t("requests.publicName")} value={row.public_name} />
        )}
        {row.worker !== null && (
          <Fact
            name={t("requests.worker")}
            value={
              <Link to="/workers/$name" params={{ name: row.worker }}>
                {row.worker}
              </Link>
            }
          />
        )}
        {row.instance_id !== null && <Fact name={t("requests.instance")} value={row.instance_id} />}
        {row.cached_tokens !== null && <Fact name={t("requests.cached")} value={row.cached_tokens} />}
        {row.reasoning_tokens !== null && (
          <Fact name={t("requests.reasoning")} value={row.reasoning_tokens} />
        )}
        {pace !== null && <Fact name={t("requests.pace")} value={pace.toFixed(1)} />}
        {row.cause !== null && <Fact name={t("requests.cause")} value={<code>{row.cause}</code>} />}
        {row.partial && <Fact name={t("requests.tokens")} value={t("requests.partial")} />}
        {row.shown_id !== null && row.shown_id !== row.request_id && (
          <Fact name={t("requests.shownId")} value={<code>{row.shown_id}</code>} />
        )}
      </dl>
      <Command label={t("requests.copyId")} text={row.request_id} />
    </div>
  );
}

function Times({ row }: { row: RequestRow }) {
  const { t } = useTranslation();
  const stretches = stretchesOf(row);
  const told = stretches.map(({ part, seconds }) => `${t(`requests.parts.${part}`)} ${brief(seconds)}`);
  return (
    <div className="times">
      <div className="times-bar" role="img" aria-label={`${t("requests.timing")}: ${told.join(", ")}`}>
        {stretches.map(({ part, seconds }) => (
          <i key={part} className={`part-${part}`} style={{ flexGrow: (100 * seconds) / row.seconds }} />
        ))}
      </div>
      <ul aria-hidden="true">
        {stretches.map(({ part }, at) => (
          <li key={part}>
            <i className={`swatch part-${part}`} />
            {told[at]}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Fact({ name, value }: { name: string; value: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
