import { Button } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { usePlatform } from "../platform";
import { Door } from "./Door";
import { PasswordField } from "./PasswordField";
import { useSubmit } from "./useSubmit";

interface Props {
  username: string;
  /** What was typed at the sign-in a moment ago; empty after a reload. */
  current: string;
}

export function NewPassword({ username, current }: Props) {
  const { t } = useTranslation();
  const { api, queries } = usePlatform();
  const [old, setOld] = useState(current);
  const [fresh, setFresh] = useState("");
  const [again, setAgain] = useState("");
  const differs = again !== "" && !fresh.startsWith(again) && again !== fresh;
  const { submit, isSending, error } = useSubmit(async () => {
    await api.post("/api/v1/auth/password", { current: old, new: fresh });
    await queries.resetQueries();
  });
  return (
    <Door title={t("password.title")}>
      <p className="sentence">{t("password.why")}</p>
      <form onSubmit={submit}>
        <input type="text" name="username" autoComplete="username" value={username} readOnly hidden />
        {current === "" && (
          <PasswordField
            label={t("password.current")}
            autoComplete="current-password"
            value={old}
            onValue={setOld}
          />
        )}
        <PasswordField
          label={t("password.new")}
          autoComplete="new-password"
          autoFocus
          value={fresh}
          onValue={setFresh}
          error={error}
        />
        <PasswordField
          label={t("password.repeat")}
          autoComplete="new-password"
          value={again}
          onValue={setAgain}
          error={differs ? t("password.differs") : null}
        />
        <Button type="submit" loading={isSending} disabled={fresh === "" || again !== fresh}>
          {t("password.submit")}
        </Button>
      </form>
    </Door>
  );
}
