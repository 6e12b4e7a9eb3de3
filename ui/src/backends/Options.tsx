// The options of one engine with their help, found while one types.

import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Backend } from "../api/types";

export function Options({ backend, q }: { backend: Backend; q: string }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const found = matching(backend.options, q);
  return (
    <div className="options">
      <input
        className="search"
        type="search"
        aria-label={t("engines.optionsFind")}
        placeholder={t("engines.optionsFind")}
        value={q}
        onChange={(event) => {
          const sought = event.currentTarget.value;
          const search = sought === "" ? { engine: backend.name } : { engine: backend.name, q: sought };
          void navigate({ to: "/backends", search, replace: true });
        }}
      />
      {found.length === 0 ? (
        <p className="soft">{t("engines.noOption")}</p>
      ) : (
        <section
          className="options-room"
          tabIndex={0}
          aria-label={t("engines.open", { engine: backend.name })}
        >
          <table>
            <thead>
              <tr>
                <th>{t("engines.option")}</th>
                <th>{t("engines.kind")}</th>
                <th>{t("engines.does")}</th>
              </tr>
            </thead>
            <tbody>
              {found.map(({ name, kind, help, choices }) => (
                <tr key={name}>
                  <td className="mono">{name}</td>
                  <td className="soft">{choices.length > 0 ? choices.join(" | ") : kind}</td>
                  <td>{help}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      <p className="sentence">{t("engines.optionsOther")}</p>
    </div>
  );
}

/** Every word must stand in the name or the help. */
export function matching(options: Backend["options"], q: string): Backend["options"] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return options.filter(({ name, help }) =>
    words.every((word) => `${name} ${help}`.toLowerCase().includes(word)),
  );
}
