import { useTranslation } from "react-i18next";
import type { components } from "../api/schema.gen";
import { dateTime } from "../format";
import { Confirm } from "../parts/Confirm";
import { Loaded } from "../parts/Loaded";
import { useQuestion } from "../parts/useQuestion";
import { useRows } from "../parts/useRows";
import { usePlatform } from "../platform";

type Session = components["schemas"]["SessionShape"];

export function Sessions() {
  const { t, i18n } = useTranslation();
  const { api } = usePlatform();
  const [sessions, again] = useRows<Session>("/api/v1/sessions");
  const [ending, end, keep] = useQuestion<Session>();
  const send = async (session: Session) => {
    await api.delete(`/api/v1/sessions/${session.id}`);
    await again();
  };
  return (
    <Loaded query={sessions}>
      {(rows) => (
        <section className="card scroll" aria-label={t("access.tabs.sessions")}>
          <table>
            <thead>
              <tr>
                <th>{t("access.users.username")}</th>
                <th>{t("access.sessions.address")}</th>
                <th>{t("access.sessions.program")}</th>
                <th>{t("access.sessions.seen")}</th>
                <th>{t("access.sessions.ends")}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {rows.map((session) => (
                <tr key={session.id} data-session={session.id}>
                  <td className="name">
                    {session.user}{" "}
                    {session.current && <span className="tag">{t("access.sessions.current")}</span>}
                  </td>
                  <td className="mono">{session.address}</td>
                  <td className="soft small agent">{session.user_agent}</td>
                  <td>{dateTime(session.seen_at, i18n.language)}</td>
                  <td>{dateTime(session.expires_at, i18n.language)}</td>
                  <td>
                    <button type="button" className="quiet-button" onClick={() => end(session)}>
                      {t("access.sessions.end")}
                      <span className="hidden"> {`${session.user} ${session.id}`}</span>
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {ending !== null && (
            <Confirm
              title={t("access.sessions.endTitle", { name: ending.user })}
              consequences={[t("access.sessions.endText")]}
              verb={t("access.sessions.end")}
              onConfirm={() => send(ending)}
              onClose={keep}
            />
          )}
        </section>
      )}
    </Loaded>
  );
}
