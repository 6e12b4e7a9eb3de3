// What a query answered, or why there is nothing to show yet.

import { Button } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

interface Props<T> {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
}

/** Data that is held stays on the screen while it is asked for again, and when that fails. */
export function Loaded<T>({ query, children }: Props<T>) {
  const { t } = useTranslation();
  if (query.data !== undefined) return children(query.data);
  if (query.error === null) return <p className="soft">{t("common.loading")}</p>;
  return (
    <div className="notice is-bad" role="alert">
      <p>{t("common.failed", { why: query.error.message || t("session.unreachable") })}</p>
      <Button variant="default" size="xs" justify="start" onClick={() => void query.refetch()}>
        {t("common.retry")}
      </Button>
    </div>
  );
}
