// Something to paste into a terminal, with a button that copies it.

import { useState } from "react";
import { useTranslation } from "react-i18next";

const SHOWN_MS = 1600;

export function Command({ text, label }: { text: string; label: string }) {
  const { t } = useTranslation();
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return (
    <div className="command">
      <section className="text" tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
      <button type="button" className="quiet-button" onClick={() => void copy()}>
        <span aria-live="polite">{copied ? t("common.copied") : t("common.copy")}</span>
      </button>
    </div>
  );
}

/** The clipboard API exists on HTTPS and localhost only; consoles are often opened by plain HTTP on a LAN. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
