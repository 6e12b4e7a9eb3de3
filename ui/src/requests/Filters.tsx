// What the list of requests is narrowed to; all of it stands in the address.

import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useModels } from "../platform";
import { isNarrowed, type RequestsSearch, requestsSearch } from "./search";
import { useNamed } from "./useRequests";

const STATUSES = ["2xx", "4xx", "5xx", "429", "499"] as const;

export function Filters({ search, isAdmin }: { search: RequestsSearch; isAdmin: boolean }) {
  const { t } = useTranslation();
  const navigate = useNavigate({ from: "/requests" });
  const models = useModels();
  const keys = useNamed("keys", true);
  const users = useNamed("users", isAdmin);
  const set = (change: Record<string, unknown>) =>
    void navigate({ search: requestsSearch({ ...search, open: undefined, ...change }), replace: true });
  const names = (models.data?.items ?? []).map(({ name }) => ({ id: name, name }));
  return (
    <fieldset className="toolbar filters">
      <legend className="hidden">{t("requests.filter")}</legend>
      <Choice
        label={t("requests.model")}
        value={search.model}
        items={names}
        onPick={(model) => set({ model })}
      />
      {isAdmin && (
        <Choice
          label={t("requests.user")}
          value={search.user}
          items={users}
          onPick={(user) => set({ user: Number(user) })}
        />
      )}
      <Choice
        label={t("requests.key")}
        value={search.key}
        items={keys}
        onPick={(key) => set({ key: Number(key) })}
      />
      <Choice
        label={t("requests.status")}
        value={search.status}
        items={STATUSES.map((each) => ({ id: each, name: t(`requests.statuses.${each}`) }))}
        onPick={(status) => set({ status })}
      />
      <Typed
        label={t("requests.cause")}
        hint={t("requests.causeHelp")}
        value={search.cause}
        onType={(cause) => set({ cause })}
      />
      <Typed
        label={t("requests.request")}
        hint={t("requests.requestHelp")}
        value={search.request}
        onType={(request) => set({ request })}
      />
      {(["from", "to"] as const).map((end) => (
        <label className="field" key={end}>
          {t(`requests.${end}`)}
          <input
            type="datetime-local"
            value={search[end] ?? ""}
            onChange={(event) => set({ [end]: event.currentTarget.value })}
          />
        </label>
      ))}
      {isNarrowed(search) && (
        <button
          type="button"
          className="quiet-button"
          onClick={() => void navigate({ search: {}, replace: true })}
        >
          {t("requests.clear")}
        </button>
      )}
    </fieldset>
  );
}

interface ChoiceProps {
  label: string;
  value: string | number | undefined;
  items: { id: string | number; name: string }[];
  onPick: (picked: string) => void;
}

/** What the address names stays to be seen, even where it is not among the items any more. */
function Choice({ label, value, items, onPick }: ChoiceProps) {
  const { t } = useTranslation();
  const isKnown = value === undefined || items.some(({ id }) => id === value);
  return (
    <label className="field">
      {label}
      <select aria-label={label} value={value ?? ""} onChange={(event) => onPick(event.currentTarget.value)}>
        <option value="">{t("requests.all")}</option>
        {!isKnown && <option value={value}>{typeof value === "number" ? `#${value}` : value}</option>}
        {items.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface TypedProps {
  label: string;
  hint: string;
  value: string | undefined;
  onType: (text: string) => void;
}

/** Asked for when it is left or Enter is pressed, not with each letter. */
function Typed({ label, hint, value = "", onType }: TypedProps) {
  const [draft, setDraft] = useState({ of: value, text: value });
  const text = draft.of === value ? draft.text : value;
  const done = () => {
    if (text.trim() !== value) onType(text.trim());
  };
  return (
    <form
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        done();
      }}
    >
      <label className="field">
        {label}
        <input
          value={text}
          placeholder={hint}
          spellCheck={false}
          onChange={(event) => setDraft({ of: value, text: event.currentTarget.value })}
          onBlur={done}
        />
      </label>
    </form>
  );
}
