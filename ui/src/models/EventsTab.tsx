// The diary of one deployment, the newest first.

import { useNavigate, useSearch } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { PlatformEvent } from "../api/types";
import { Loaded } from "../parts/Loaded";
import { StateMark } from "../parts/StateMark";
import { useModelEvents } from "../platform";
import type { ModelSearch } from "./search";

export function EventsTab({ model }: { model: string }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const events = useModelEvents(model);
  const search: ModelSearch = useSearch({ from: "/models/$" });
  return (
    <Loaded query={events}>
      {(list) => {
        const ids = [...new Set(list.items.map(({ instance_id }) => instance_id))].filter(
          (id) => id !== null,
        );
        const kept = list.items.filter(
          ({ instance_id }) => search.instance === undefined || instance_id === search.instance,
        );
        const shown = kept.sort((a, b) => b.id - a.id);
        return (
          <>
            <div className="toolbar">
              <label>
                {t("model.instance")}
                <select
                  value={search.instance ?? ""}
                  onChange={(event) => {
                    const id = Number(event.currentTarget.value);
                    void navigate({
                      to: "/models/$",
                      params: { _splat: model },
                      search: { tab: "events", ...(id > 0 && { instance: id }) },
                      replace: true,
                    });
                  }}
                >
                  <option value="">{t("deployments.all")}</option>
                  {ids
                    .sort((a, b) => b - a)
                    .map((id) => (
                      <option key={id}>{id}</option>
                    ))}
                </select>
              </label>
              <span className="soft small">{t("deployments.newestFirst", { count: shown.length })}</span>
            </div>
            {shown.length === 0 ? (
              <p className="soft">{t("model.noTimeline")}</p>
            ) : (
              <EventTable events={shown} />
            )}
          </>
        );
      }}
    </Loaded>
  );
}

function EventTable({ events }: { events: PlatformEvent[] }) {
  const { t, i18n } = useTranslation();
  const moment = new Intl.DateTimeFormat(i18n.language, {
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  });
  return (
    <section className="card scroll" aria-label={t("deployments.tabs.events")}>
      <table className="events">
        <thead>
          <tr>
            <th>{t("deployments.time")}</th>
            <th className="number">{t("model.instance")}</th>
            <th>{t("models.state")}</th>
            <th>{t("model.worker")}</th>
            <th>{t("deployments.what")}</th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <tr key={event.id}>
              <td className="number">
                <time dateTime={event.at}>{moment.format(new Date(event.at))}</time>
              </td>
              <td className="number">{event.instance_id ?? t("common.none")}</td>
              <td>{event.to_state === null ? t("common.none") : <StateMark state={event.to_state} />}</td>
              <td className="mono">{event.worker ?? t("common.none")}</td>
              <td className="sentence">{event.message ?? event.kind}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
