// Nobody in without a session, nobody further with the initial password. The address stays, so that a link still works
// after signing in.

import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api/client";
import { Loaded } from "../parts/Loaded";
import { useMe } from "../platform";
import { NewPassword } from "./NewPassword";
import { SignIn } from "./SignIn";

export function Gate({ children }: { children: ReactNode }) {
  const me = useMe();
  const { t } = useTranslation();
  const [password, setPassword] = useState("");
  if (me.error instanceof ApiError && me.error.status === 401) return <SignIn onPassword={setPassword} />;
  if (me.data === undefined) {
    return (
      <main className="page" aria-label={t("session.title")}>
        <Loaded query={me}>{() => null}</Loaded>
      </main>
    );
  }
  if (me.data.must_change_password) return <NewPassword current={password} username={me.data.username} />;
  return children;
}
