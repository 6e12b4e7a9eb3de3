import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { components } from "../api/schema.gen";
import { dateTime } from "../format";
import { Confirm } from "../parts/Confirm";
import { Dialog } from "../parts/Dialog";
import { Loaded } from "../parts/Loaded";
import { Refused } from "../parts/Refused";
import { ShownOnce } from "../parts/ShownOnce";
import { useAct } from "../parts/useAct";
import { useQuestion } from "../parts/useQuestion";
import { useRows } from "../parts/useRows";
import { usePlatform } from "../platform";
import { ROLES } from "./forms";

type User = components["schemas"]["UserShape"];
type NewUser = components["schemas"]["NewUser"];
type Role = (typeof ROLES)[number];

interface FirstPassword {
  username: string;
  password: string | null;
}

export function Users() {
  const { t } = useTranslation();
  const [users, again] = useRows<User>("/api/v1/users");
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<FirstPassword | null>(null);
  const shown = (first: FirstPassword) => {
    setMade(first);
    void again();
  };
  return (
    <>
      <div className="actions">
        <button type="button" className="button is-main" onClick={() => setMaking(true)}>
          {t("access.users.new")}
        </button>
      </div>
      {made?.password && (
        <div aria-live="polite">
          <ShownOnce label={t("access.users.once", { name: made.username })} text={made.password} />
        </div>
      )}
      <Loaded query={users}>{(rows) => <UserTable rows={rows} again={again} onPassword={shown} />}</Loaded>
      {isMaking && <Make onMade={shown} onClose={() => setMaking(false)} />}
    </>
  );
}

interface TableProps {
  rows: User[];
  again: () => Promise<void>;
  onPassword: (first: FirstPassword) => void;
}

function UserTable({ rows, again, onPassword }: TableProps) {
  const { t, i18n } = useTranslation();
  return (
    <section className="card scroll" aria-label={t("access.tabs.users")}>
      <table>
        <thead>
          <tr>
            <th>{t("access.users.username")}</th>
            <th>{t("access.users.role")}</th>
            <th>{t("access.users.state")}</th>
            <th>{t("access.users.seen")}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {rows.map((user) => (
            <tr key={user.id} data-user={user.username}>
              <td className="name">{user.username}</td>
              <td>
                <RoleChoice user={user} again={again} />
              </td>
              <td>{t(user.active ? "access.users.active" : "access.users.inactive")}</td>
              <td>
                {user.last_login_at === null
                  ? t("access.never")
                  : dateTime(user.last_login_at, i18n.language)}
              </td>
              <td>
                <UserActs user={user} again={again} onPassword={onPassword} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function RoleChoice({ user, again }: { user: User; again: () => Promise<void> }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const { act, isBusy, error } = useAct();
  const set = (role: string) =>
    act(async () => {
      await api.patch(`/api/v1/users/${user.id}`, { role });
      await again();
    });
  return (
    <>
      <select
        className="inline-select"
        aria-label={`${t("access.users.role")} ${user.username}`}
        disabled={isBusy}
        value={user.role}
        onChange={(event) => void set(event.currentTarget.value)}
      >
        {ROLES.map((role) => (
          <option key={role} value={role}>
            {t(`access.users.roles.${role}`)}
          </option>
        ))}
      </select>
      <Refused error={error} />
    </>
  );
}

interface ActsProps {
  user: User;
  again: () => Promise<void>;
  onPassword: (first: FirstPassword) => void;
}

function UserActs({ user, again, onPassword }: ActsProps) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const { act, isBusy, error } = useAct();
  const [question, ask, close] = useQuestion<"deactivate" | "reset" | "remove">();
  const path = `/api/v1/users/${user.id}`;
  const words = { name: user.username };
  const setActive = async (active: boolean) => {
    await api.patch(path, { active });
    await again();
  };
  const does = {
    deactivate: () => setActive(false),
    reset: async () => onPassword(await api.post<FirstPassword>(`${path}/reset-password`)),
    remove: async () => {
      await api.delete(path);
      await again();
    },
  };
  return (
    <div className="acts">
      {user.active ? (
        <button type="button" className="quiet-button" onClick={() => ask("deactivate")}>
          {t("access.users.deactivate")}
          <span className="hidden"> {user.username}</span>
        </button>
      ) : (
        <button
          type="button"
          className="quiet-button"
          disabled={isBusy}
          onClick={() => void act(() => setActive(true))}
        >
          {t("access.users.activate")}
          <span className="hidden"> {user.username}</span>
        </button>
      )}
      <button type="button" className="quiet-button" onClick={() => ask("reset")}>
        {t("access.users.reset")}
        <span className="hidden"> {user.username}</span>
      </button>
      <button type="button" className="quiet-button" onClick={() => ask("remove")}>
        {t("access.users.remove")}
        <span className="hidden"> {user.username}</span>
      </button>
      <Refused error={error} />
      {question !== null && (
        <Confirm
          title={t(`access.users.${question}Title`, words)}
          consequences={[t(`access.users.${question}Text`)]}
          verb={t(`access.users.${question}`)}
          onConfirm={does[question]}
          onClose={close}
        />
      )}
    </div>
  );
}

function Make({ onMade, onClose }: { onMade: (user: NewUser) => void; onClose: () => void }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const { act, isBusy, error } = useAct();
  const [username, setUsername] = useState("");
  const [role, setRole] = useState<Role>("user");
  const send = async () => {
    if (await act(async () => onMade(await api.post<NewUser>("/api/v1/users", { username, role }))))
      onClose();
  };
  return (
    <Dialog title={t("access.users.title")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label className="field">
          {t("access.users.username")}
          <input required value={username} onChange={(event) => setUsername(event.currentTarget.value)} />
        </label>
        <label className="field">
          {t("access.users.role")}
          <select value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>
            {ROLES.map((each) => (
              <option key={each} value={each}>
                {t(`access.users.roles.${each}`)}
              </option>
            ))}
          </select>
        </label>
        <p className="sentence">{t("access.users.roleHelp")}</p>
        <Refused error={error} />
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            {t("common.cancel")}
          </button>
          <button type="submit" className="button is-main" disabled={isBusy}>
            {t("access.users.make")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
