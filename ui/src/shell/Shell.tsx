// The frame of every page: where one can go, whether it is live, and how one likes to read.

import { Link, Outlet } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useMe, usePlatform } from "../platform";
import { Bell } from "./Bell";
import { Keys } from "./Keys";
import { LanguageSwitch } from "./LanguageSwitch";
import { LiveBadge } from "./LiveBadge";
import { PLACES } from "./places";
import { ThemeChoice } from "./ThemeChoice";
import { useLine } from "./useLine";
import { Wordmark } from "./Wordmark";

export function Shell() {
  const { t } = useTranslation();
  const isAdmin = useMe().data?.role === "admin";
  const places = PLACES.filter((place) => isAdmin || !("isForAdmins" in place));
  useLine();
  return (
    <div className="shell">
      <a className="skip" href="#main">
        {t("app.skip")}
      </a>
      <header className="side">
        <Link to="/" className="wordmark">
          <Wordmark />
        </Link>
        <nav aria-label={t("app.navigation")}>
          <ul>
            {places.map(({ to, words }) => (
              <li key={to}>
                <Link to={to} activeOptions={{ exact: to === "/" }}>
                  {t(words)}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className="preferences">
          <Keys />
          <Bell />
          <LiveBadge />
          <ThemeChoice />
          <LanguageSwitch />
          <SignOut />
        </div>
      </header>
      <main id="main" className="page" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}

function SignOut() {
  const { t } = useTranslation();
  const { api, line, queries } = usePlatform();
  const me = useMe();
  const signOut = async () => {
    await api.post("/api/v1/auth/logout");
    line.close();
    queries.removeQueries({ queryKey: ["live"] });
    await queries.resetQueries();
  };
  return (
    <button type="button" className="quiet-button" onClick={() => void signOut()}>
      {t("session.signOut")} <span className="mono">{me.data?.username}</span>
    </button>
  );
}
