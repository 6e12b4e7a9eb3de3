// Keys that work on every page: Ctrl-K leads anywhere, / to the page's search, ? tells them.

import { lazy, Suspense, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Dialog } from "../parts/Dialog";

const Palette = lazy(async () => ({ default: (await import("./Palette")).Palette }));
type Open = "palette" | "help" | null;

export function Keys() {
  const { t } = useTranslation();
  const [open, setOpen] = useState<Open>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const asked = askedBy(event);
      if (asked === undefined || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      if (asked === "search") document.querySelector<HTMLInputElement>("main input[type=search]")?.focus();
      else setOpen(asked);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <button
        type="button"
        className="quiet-button"
        aria-keyshortcuts="Control+K"
        onClick={() => setOpen("palette")}
      >
        {t("palette.open")} <kbd>Ctrl K</kbd>
      </button>
      {open === "palette" && (
        <Suspense>
          <Palette onClose={() => setOpen(null)} />
        </Suspense>
      )}
      {open === "help" && (
        <Dialog title={t("palette.keys")} onClose={() => setOpen(null)}>
          <dl className="facts">
            {(["palette", "search", "help"] as const).map((each) => (
              <div key={each}>
                <dt>
                  <kbd>{KEYS[each]}</kbd>
                </dt>
                <dd>{t(`palette.does.${each}`)}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}

const KEYS = { palette: "Ctrl K", search: "/", help: "?" };

/** Letters mean nothing while somebody types. */
function askedBy(event: KeyboardEvent): "palette" | "search" | "help" | undefined {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") return "palette";
  const isTyping =
    event.target instanceof Element && event.target.closest("input, textarea, select") !== null;
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return undefined;
  return event.key === "/" ? "search" : event.key === "?" ? "help" : undefined;
}
