import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { components } from "../api/schema.gen";
import { Confirm } from "../parts/Confirm";
import { Dialog } from "../parts/Dialog";
import { Loaded } from "../parts/Loaded";
import { Refused } from "../parts/Refused";
import { useAct } from "../parts/useAct";
import { useQuestion } from "../parts/useQuestion";
import { useRows } from "../parts/useRows";
import { usePlatform } from "../platform";
import { words } from "./forms";

type Group = components["schemas"]["GroupShape"];

export function Groups() {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const [groups, again] = useRows<Group>("/api/v1/groups");
  const [editing, edit, leave] = useQuestion<Group | "new">();
  const [leaving, remove, keep] = useQuestion<Group>();
  const deleteGroup = async (group: Group) => {
    await api.delete(`/api/v1/groups/${group.id}`);
    await again();
  };
  return (
    <>
      <div className="actions">
        <button type="button" className="button is-main" onClick={() => edit("new")}>
          {t("access.groups.new")}
        </button>
      </div>
      <Loaded query={groups}>
        {(rows) =>
          rows.length === 0 ? (
            <p className="soft">{t("access.groups.empty")}</p>
          ) : (
            <GroupTable rows={rows} onEdit={edit} onRemove={remove} />
          )
        }
      </Loaded>
      {editing !== null && <Edit group={editing === "new" ? null : editing} again={again} onClose={leave} />}
      {leaving !== null && (
        <Confirm
          title={t("access.groups.removeTitle", { name: leaving.name })}
          consequences={[t("access.groups.removeText")]}
          verb={t("access.groups.remove")}
          onConfirm={() => deleteGroup(leaving)}
          onClose={keep}
        />
      )}
    </>
  );
}

interface TableProps {
  rows: Group[];
  onEdit: (group: Group) => void;
  onRemove: (group: Group) => void;
}

function GroupTable({ rows, onEdit, onRemove }: TableProps) {
  const { t } = useTranslation();
  return (
    <section className="card scroll" aria-label={t("access.tabs.groups")}>
      <table>
        <thead>
          <tr>
            <th>{t("access.name")}</th>
            <th>{t("access.groups.members")}</th>
            <th>{t("access.groups.description")}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {rows.map((group) => (
            <tr key={group.id} data-group={group.name}>
              <td className="name">{group.name}</td>
              <td>{group.members.join(", ") || t("access.none")}</td>
              <td>{group.description}</td>
              <td>
                <div className="acts">
                  <button type="button" className="quiet-button" onClick={() => onEdit(group)}>
                    {t("access.edit")}
                    <span className="hidden"> {group.name}</span>
                  </button>
                  <button type="button" className="quiet-button" onClick={() => onRemove(group)}>
                    {t("access.groups.remove")}
                    <span className="hidden"> {group.name}</span>
                  </button>
                </div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Edit({
  group,
  again,
  onClose,
}: {
  group: Group | null;
  again: () => Promise<void>;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const { act, isBusy, error } = useAct();
  const [name, setName] = useState(group?.name ?? "");
  const [members, setMembers] = useState(group?.members.join(" ") ?? "");
  const [description, setDescription] = useState(group?.description ?? "");
  const send = async () => {
    const body = { name, description, members: words(members) };
    const isDone = await act(async () => {
      await (group === null
        ? api.post("/api/v1/groups", body)
        : api.patch(`/api/v1/groups/${group.id}`, body));
      await again();
    });
    if (isDone) onClose();
  };
  return (
    <Dialog title={group?.name ?? t("access.groups.title")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label className="field">
          {t("access.name")}
          <input required value={name} onChange={(event) => setName(event.currentTarget.value)} />
        </label>
        <label className="field">
          {t("access.groups.members")}
          <input
            value={members}
            onChange={(event) => setMembers(event.currentTarget.value)}
            placeholder={t("access.groups.membersHelp")}
          />
        </label>
        <label className="field">
          {t("access.groups.description")}
          <input value={description} onChange={(event) => setDescription(event.currentTarget.value)} />
        </label>
        <Refused error={error} />
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            {t("common.cancel")}
          </button>
          <button type="submit" className="button is-main" disabled={isBusy}>
            {t(group === null ? "access.groups.make" : "access.save")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
