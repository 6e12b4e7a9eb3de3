// Which model is asked: of those that serve this, with the state of those that do not answer at once.

import { useTranslation } from "react-i18next";
import type { AnyState } from "../api/types";
import type { Served } from "./catalogue";

interface Props {
  label: string;
  served: Served[];
  value: string;
  onPick: (model: string) => void;
  isHidden?: boolean;
}

export function ModelChoice({ label, served, value, onPick, isHidden = false }: Props) {
  const { t } = useTranslation();
  const isKnown = served.some(({ id }) => id === value);
  return (
    <label className="field">
      <span className={isHidden ? "hidden" : undefined}>{label}</span>
      <select aria-label={label} value={value} onChange={(event) => onPick(event.currentTarget.value)}>
        {!isKnown && <option>{value}</option>}
        {served.map(({ id, state }) => (
          <option key={id} value={id}>
            {state === "ready" || state === "partly_ready"
              ? id
              : t("playground.stateOf", { name: id, state: t(`state.${state as AnyState}`) })}
          </option>
        ))}
      </select>
    </label>
  );
}
