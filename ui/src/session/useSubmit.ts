// One form being sent: no second time meanwhile, and the server's own sentence when it refuses.

import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api/client";

export function useSubmit(send: () => Promise<void>) {
  const { t } = useTranslation();
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    setError(null);
    try {
      await send();
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      setError(failure.message || t(failure.status === 0 ? "session.unreachable" : "session.failed"));
    } finally {
      setSending(false);
    }
  };
  return { submit, isSending, error };
}
