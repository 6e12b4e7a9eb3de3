// Who may do what: keys, users, groups and sessions.

import "./access.css";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useMe } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { TABS, type Tab } from "./forms";
import { Groups } from "./Groups";
import { Keys } from "./Keys";
import { Sessions } from "./Sessions";
import { Users } from "./Users";

const route = getRouteApi("/access");
const PARTS = { keys: Keys, users: Users, groups: Groups, sessions: Sessions };

export function AccessPage() {
  const { t } = useTranslation();
  const { tab }: { tab: Tab } = route.useSearch();
  const isAdmin = useMe().data?.role === "admin";
  usePageTitle(t("access.title"));
  const tabs = TABS.filter((each) => isAdmin || each === "keys" || each === "sessions");
  const Part = PARTS[tabs.includes(tab) ? tab : "keys"];
  return (
    <>
      <div className="page-head">
        <h1>{t("access.title")}</h1>
      </div>
      <nav className="tab-links" aria-label={t("access.title")}>
        {tabs.map((each) => (
          <Link
            key={each}
            to="/access"
            search={{ tab: each }}
            aria-current={each === tab ? "page" : undefined}
          >
            {t(`access.tabs.${each}`)}
          </Link>
        ))}
      </nav>
      <Part />
    </>
  );
}
