import { Button, PasswordInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { usePlatform } from "../platform";
import { Door } from "./Door";
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
  const field = { required: true, withAsterisk: false, autoComplete: "new-password" };
  return (
    <Door title={t("password.title")}>
      <p className="sentence">{t("password.why")}</p>
      <form onSubmit={submit}>
        <input type="text" name="username" autoComplete="username" value={username} readOnly hidden />
        {current === "" && (
          <PasswordInput
            {...field}
            label={t("password.current")}
            autoComplete="current-password"
            value={old}
            onChange={(event) => setOld(event.currentTarget.value)}
          />
        )}
        <PasswordInput
          {...field}
          label={t("password.new")}
          autoFocus
          value={fresh}
          onChange={(event) => setFresh(event.currentTarget.value)}
          error={error}
        />
        <PasswordInput
          {...field}
          label={t("password.repeat")}
          value={again}
          onChange={(event) => setAgain(event.currentTarget.value)}
          error={differs ? t("password.differs") : null}
        />
        <Button type="submit" loading={isSending} disabled={fresh === "" || again !== fresh}>
          {t("password.submit")}
        </Button>
      </form>
    </Door>
  );
}
