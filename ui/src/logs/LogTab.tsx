// The logs of one deployment: of each replica, and of each of its attempts.

import { useNavigate, useSearch } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Instance } from "../api/types";
import type { ModelSearch } from "../models/search";
import { LogView } from "./LogView";

export function LogTab({ instances }: { instances: Instance[] }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const search: ModelSearch = useSearch({ from: "/models/$" });
  const started = instances.filter(({ attempt }) => attempt > 0);
  const instance = started.find(({ id }) => id === search.instance) ?? started.at(-1);
  if (instance === undefined) return <p className="soft">{t("logs.notStarted")}</p>;
  const show = (change: Pick<ModelSearch, "instance" | "attempt">) =>
    void navigate({
      to: "/models/$",
      params: { _splat: instance.model },
      search: { tab: "logs", ...change },
      replace: true,
    });
  return (
    <LogView
      instance={instance}
      attempt={search.attempt}
      onAttempt={(attempt) => show({ instance: instance.id, ...(attempt && { attempt }) })}
    >
      <label>
        {t("model.instance")}
        <select
          value={instance.id}
          onChange={(event) => show({ instance: Number(event.currentTarget.value) })}
        >
          {started.map(({ id, worker }) => (
            <option key={id} value={id}>
              {worker === null ? id : `${id} · ${worker}`}
            </option>
          ))}
        </select>
      </label>
    </LogView>
  );
}
