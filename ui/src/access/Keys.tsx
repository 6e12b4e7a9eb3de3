import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { components } from "../api/schema.gen";
import { platformAddress } from "../base";
import { dateTime } from "../format";
import { Command } from "../parts/Command";
import { Confirm } from "../parts/Confirm";
import { Dialog } from "../parts/Dialog";
import { Loaded } from "../parts/Loaded";
import { Refused } from "../parts/Refused";
import { ShownOnce } from "../parts/ShownOnce";
import { useAct } from "../parts/useAct";
import { useQuestion } from "../parts/useQuestion";
import { useRows } from "../parts/useRows";
import { usePlatform } from "../platform";
import { FRESH_KEY, keyBody, SCOPES } from "./forms";

type Key = components["schemas"]["KeyShape"];
type NewKey = components["schemas"]["NewKey"];
const ROTATION_OVERLAP_SECONDS = 3600;

export function Keys() {
  const { t } = useTranslation();
  const [keys, again] = useRows<Key>("/api/v1/keys");
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<NewKey | null>(null);
  const shown = (key: NewKey) => {
    setMade(key);
    void again();
  };
  return (
    <>
      <div className="actions">
        <button type="button" className="button is-main" onClick={() => setMaking(true)}>
          {t("access.keys.new")}
        </button>
      </div>
      {made !== null && <Made made={made} />}
      <Loaded query={keys}>
        {(rows) =>
          rows.length === 0 ? (
            <p className="soft">{t("access.keys.empty")}</p>
          ) : (
            <KeyTable rows={rows} again={again} onMade={shown} />
          )
        }
      </Loaded>
      {isMaking && <Make onMade={shown} onClose={() => setMaking(false)} />}
    </>
  );
}

function Made({ made }: { made: NewKey }) {
  const { t } = useTranslation();
  const curl = `curl ${platformAddress()}/v1/models \\\n  -H "Authorization: Bearer ${made.key}"`;
  return (
    <div aria-live="polite">
      <ShownOnce label={`${made.name}: ${t("access.keys.once")}`} text={made.key} />
      <p className="sentence">{t("access.keys.try")}</p>
      <Command label={t("access.keys.try")} text={curl} />
    </div>
  );
}

interface TableProps {
  rows: Key[];
  again: () => Promise<void>;
  onMade: (key: NewKey) => void;
}

function KeyTable({ rows, again, onMade }: TableProps) {
  const { t, i18n } = useTranslation();
  const moment = (at: string | null) => (at === null ? t("access.never") : dateTime(at, i18n.language));
  return (
    <section className="card scroll" aria-label={t("access.tabs.keys")}>
      <table>
        <thead>
          <tr>
            <th>{t("access.name")}</th>
            <th>{t("access.keys.owner")}</th>
            <th>{t("access.keys.scopes")}</th>
            <th>{t("access.keys.models")}</th>
            <th>{t("access.keys.used")}</th>
            <th>{t("access.keys.expires")}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {rows.map((key) => (
            <tr key={key.id} data-key={key.name}>
              <td>
                <div className="name">{key.name}</div>
                <div className="soft small mono">{key.prefix}…</div>
                {!key.enabled && <span className="tag">{t("access.keys.disabled")}</span>}
                {key.previous_until && (
                  <p className="sentence">
                    {t("access.keys.rotated", { time: dateTime(key.previous_until, i18n.language) })}
                  </p>
                )}
              </td>
              <td>{key.user}</td>
              <td>{key.scopes.map((scope) => t(`access.keys.scope.${scope as "inference"}`)).join(", ")}</td>
              <td className="mono">{key.models.join(" ")}</td>
              <td>{moment(key.last_used_at)}</td>
              <td>{moment(key.expires_at)}</td>
              <td>
                <KeyActs row={key} again={again} onMade={onMade} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function KeyActs({
  row,
  again,
  onMade,
}: {
  row: Key;
  again: () => Promise<void>;
  onMade: (key: NewKey) => void;
}) {
  const { t, i18n } = useTranslation();
  const { api } = usePlatform();
  const { act, isBusy, error } = useAct();
  const [question, ask, close] = useQuestion<"rotate" | "remove">();
  const path = `/api/v1/keys/${row.id}`;
  const words = { name: row.name };
  const rotate = async () =>
    onMade(await api.post<NewKey>(`${path}/rotate`, { overlap_seconds: ROTATION_OVERLAP_SECONDS }));
  const toggle = async () => {
    await api.patch(path, { enabled: !row.enabled });
    await again();
  };
  const remove = async () => {
    await api.delete(path);
    await again();
  };
  return (
    <div className="acts">
      <button type="button" className="quiet-button" disabled={isBusy} onClick={() => void act(toggle)}>
        {t(row.enabled ? "access.keys.disable" : "access.keys.enable")}
        <span className="hidden"> {row.name}</span>
      </button>
      <button type="button" className="quiet-button" onClick={() => ask("rotate")}>
        {t("access.keys.rotate")}
        <span className="hidden"> {row.name}</span>
      </button>
      <button type="button" className="quiet-button" onClick={() => ask("remove")}>
        {t("access.keys.remove")}
        <span className="hidden"> {row.name}</span>
      </button>
      <Refused error={error} />
      {question === "rotate" && (
        <Confirm
          title={t("access.keys.rotateTitle", words)}
          consequences={[t("access.keys.rotateText")]}
          verb={t("access.keys.rotate")}
          onConfirm={rotate}
          onClose={close}
        />
      )}
      {question === "remove" && (
        <Confirm
          title={t("access.keys.removeTitle", words)}
          consequences={[
            row.last_used_at === null
              ? t("access.keys.removeUnused")
              : t("access.keys.removeUsed", { time: dateTime(row.last_used_at, i18n.language) }),
          ]}
          verb={t("access.keys.remove")}
          onConfirm={remove}
          onClose={close}
        />
      )}
    </div>
  );
}

function Make({ onMade, onClose }: { onMade: (key: NewKey) => void; onClose: () => void }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const { act, isBusy, error } = useAct();
  const [form, setForm] = useState(FRESH_KEY);
  const set = (name: keyof typeof form) => (event: { currentTarget: { value: string } }) =>
    setForm({ ...form, [name]: event.currentTarget.value });
  const toggle = (scope: string) =>
    setForm({
      ...form,
      scopes: form.scopes.includes(scope)
        ? form.scopes.filter((each) => each !== scope)
        : [...form.scopes, scope],
    });
  const send = async () => {
    if (await act(async () => onMade(await api.post<NewKey>("/api/v1/keys", keyBody(form))))) onClose();
  };
  return (
    <Dialog title={t("access.keys.title")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label className="field">
          {t("access.name")}
          <input required value={form.name} onChange={set("name")} placeholder={t("access.keys.nameHelp")} />
        </label>
        <fieldset className="scopes">
          <legend>{t("access.keys.scopes")}</legend>
          {SCOPES.map((scope) => (
            <label key={scope} className="check-line">
              <input type="checkbox" checked={form.scopes.includes(scope)} onChange={() => toggle(scope)} />
              {t(`access.keys.scope.${scope}`)}
            </label>
          ))}
        </fieldset>
        <label className="field">
          {t("access.keys.models")}
          <input value={form.models} onChange={set("models")} placeholder={t("access.keys.modelsHelp")} />
        </label>
        <div className="fields">
          <label className="field">
            {t("access.keys.rpm")}
            <input
              type="number"
              min={1}
              value={form.rpm}
              onChange={set("rpm")}
              placeholder={t("access.keys.noLimit")}
            />
          </label>
          <label className="field">
            {t("access.keys.tpd")}
            <input
              type="number"
              min={1}
              value={form.tpd}
              onChange={set("tpd")}
              placeholder={t("access.keys.noLimit")}
            />
          </label>
          <label className="field">
            {t("access.keys.expires")}
            <input type="datetime-local" value={form.expires} onChange={set("expires")} />
          </label>
        </div>
        <Refused error={error} />
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            {t("common.cancel")}
          </button>
          <button type="submit" className="button is-main" disabled={isBusy}>
            {t("access.keys.make")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
