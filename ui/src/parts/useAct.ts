// One act at a time, and the server's own sentence when it refuses.

import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api/client";

export function useAct() {
  const { t } = useTranslation();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  /** Whether it went well. */
  const act = async (does: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setError(null);
    try {
      await does();
      return true;
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      setError(failure.message || t(failure.status === 0 ? "session.unreachable" : "session.failed"));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { act, isBusy, error };
}
