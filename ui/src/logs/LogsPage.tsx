// The logs of one instance by its id, for links from elsewhere.

import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { Loaded } from "../parts/Loaded";
import { useInstances } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { LogView } from "./LogView";

export function LogsPage() {
  const { t } = useTranslation();
  const navigate = useNavigate({ from: "/instances/$id/logs" });
  const { id } = useParams({ from: "/instances/$id/logs" });
  const { attempt } = useSearch({ from: "/instances/$id/logs" });
  const instances = useInstances();
  usePageTitle(t("logs.title", { id }));
  return (
    <Loaded query={instances}>
      {(list) => {
        const instance = list.items.find((each) => String(each.id) === id);
        if (instance === undefined) return <h1>{t("logs.missing", { id })}</h1>;
        return (
          <>
            <p className="back">
              <Link to="/models/$" params={{ _splat: instance.model }}>
                ← {t("logs.back", { model: instance.model })}
              </Link>
            </p>
            <div className="page-head">
              <h1>{t("logs.title", { id })}</h1>
            </div>
            {instance.attempt === 0 ? (
              <p className="soft">{t("logs.notStarted")}</p>
            ) : (
              <LogView
                instance={instance}
                attempt={attempt}
                onAttempt={(chosen) =>
                  void navigate({ search: chosen === undefined ? {} : { attempt: chosen } })
                }
              />
            )}
          </>
        );
      }}
    </Loaded>
  );
}
