// Options of the engine, each with its help; what is not known is passed on and marked so.

import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Backend } from "../api/types";

interface Props {
  known: Backend["options"];
  options: Record<string, unknown>;
  onChange: (options: Record<string, unknown>) => void;
}

export function OptionsForm({ known, options, onChange }: Props) {
  const { t } = useTranslation();
  const [fresh, setFresh] = useState("");
  const about = (name: string) => known.find((each) => each.name === name);
  const add = () => {
    const name = fresh.trim().replace(/^-+/, "").replaceAll("_", "-");
    if (name === "") return;
    onChange({ ...options, [name]: about(name)?.choices[0] ?? "" });
    setFresh("");
  };
  const remove = (name: string) => {
    const { [name]: _, ...rest } = options;
    onChange(rest);
  };
  return (
    <fieldset className="group">
      <legend>{t("deploy.options")}</legend>
      <p className="sentence">{t("deploy.optionsHelp")}</p>
      {Object.entries(options).map(([name, value]) => (
        <div key={name} className="option">
          <label className="field" htmlFor={`option-${name}`}>
            <span className="mono">{name}</span>
            <OptionInput
              id={`option-${name}`}
              choices={about(name)?.choices ?? []}
              value={typeof value === "string" ? value : JSON.stringify(value)}
              onValue={(given) => onChange({ ...options, [name]: given })}
            />
            <span>{about(name)?.help ?? t("deploy.unknown")}</span>
          </label>
          <button type="button" className="quiet-button" onClick={() => remove(name)}>
            ✕<span className="hidden"> {t("deploy.removeOption", { name })}</span>
          </button>
        </div>
      ))}
      <div className="option">
        <label className="field">
          {t("deploy.option")}
          <input
            list="known-options"
            value={fresh}
            onChange={(event) => setFresh(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter") return;
              event.preventDefault();
              add();
            }}
          />
        </label>
        <button type="button" className="button" onClick={add}>
          {t("deploy.addOption")}
        </button>
        <datalist id="known-options">
          {known.map(({ name, help }) => (
            <option key={name} value={name}>
              {help}
            </option>
          ))}
        </datalist>
      </div>
    </fieldset>
  );
}

function OptionInput(props: {
  id: string;
  choices: string[];
  value: string;
  onValue: (value: string) => void;
}) {
  const { id, choices, value, onValue } = props;
  if (choices.length === 0) {
    return <input id={id} value={value} onChange={(event) => onValue(event.currentTarget.value)} />;
  }
  return (
    <select id={id} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
      {choices.map((each) => (
        <option key={each}>{each}</option>
      ))}
    </select>
  );
}
