import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { LoggedIn } from "../api/types";
import { BASE } from "../base";
import { usePlatform } from "../platform";
import { Door } from "./Door";
import { PasswordField } from "./PasswordField";
import { useSignInMethods } from "./useSignInMethods";
import { useSubmit } from "./useSubmit";

/** `onPassword` gets what was typed, so that a forced change need not ask for it again. */
export function SignIn({ onPassword }: { onPassword: (password: string) => void }) {
  const { t } = useTranslation();
  const methods = useSignInMethods();
  return (
    <Door title={t("session.title")}>
      {methods.oidc && (
        <Button component="a" href={`${BASE}/api/v1/auth/oidc/start`} mb="md" fullWidth>
          {t("session.oidc")}
        </Button>
      )}
      {methods.password && <WithPassword onPassword={onPassword} />}
    </Door>
  );
}

function WithPassword({ onPassword }: { onPassword: (password: string) => void }) {
  const { t } = useTranslation();
  const { api, queries } = usePlatform();
  const [username, setUsername] = useState("admin");
  const [password, setPassword] = useState("");
  const { submit, isSending, error } = useSubmit(async () => {
    const session = await api.post<LoggedIn>("/api/v1/auth/login", { username, password });
    api.keepCsrf(session.csrf_token);
    onPassword(session.must_change_password ? password : "");
    await queries.resetQueries();
  });
  return (
    <>
      <form onSubmit={submit}>
        <TextInput
          label={t("session.username")}
          name="username"
          autoComplete="username"
          required
          withAsterisk={false}
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
        />
        <PasswordField
          label={t("session.password")}
          name="password"
          autoComplete="current-password"
          autoFocus
          value={password}
          onValue={setPassword}
          error={error}
        />
        <Button type="submit" loading={isSending}>
          {t("session.submit")}
        </Button>
      </form>
      <p className="sentence">{t("session.hint")}</p>
    </>
  );
}
