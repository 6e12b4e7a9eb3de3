// Ctrl-K: a few letters lead to a page, a deployment or a worker.

import "./palette.css";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Dialog } from "../parts/Dialog";
import { useMe, useModels, useWorkers } from "../platform";
import { entries, meant, type PaletteEntry } from "./entries";

export function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const isAdmin = useMe().data?.role === "admin";
  const models = useModels().data?.items ?? [];
  const workers = useWorkers().data?.items ?? [];
  const [typed, setTyped] = useState("");
  const [place, setPlace] = useState(0);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.focus(), []);
  const found = meant(
    entries(models, workers, isAdmin, (words) => t(words as "nav.models")),
    typed,
  );
  const at = Math.min(place, Math.max(0, found.length - 1));
  const go = ({ to, params }: PaletteEntry) => {
    onClose();
    void navigate({ to, params } as unknown as Parameters<typeof navigate>[0]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = found[at];
    if (step !== undefined) setPlace((at + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter" && chosen !== undefined) go(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={t("palette.title")} onClose={onClose}>
      <input
        className="search palette-input"
        ref={box}
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-found"
        aria-activedescendant={found.length > 0 ? `palette-${at}` : undefined}
        aria-label={t("palette.title")}
        placeholder={t("palette.placeholder")}
        value={typed}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setPlace(0);
        }}
      />
      <div id="palette-found" role="listbox" aria-label={t("palette.found")} className="palette-found">
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the box above has the keys
          <div
            key={entry.id}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => go(entry)}
          >
            <span>{entry.text}</span>
            <span className="soft small">{t(`palette.kinds.${entry.kind}`)}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="soft">{t("palette.none")}</p>}
    </Dialog>
  );
}
