// A question in front of the page: the browser's own dialog, which keeps the focus and gives it back.

import { type ReactNode, useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** Open as long as it is mounted. */
export function Dialog({ title, onClose, children }: Props) {
  const { t } = useTranslation();
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  return (
    <dialog ref={box} className="dialog" aria-label={title} onClose={onClose}>
      <div className="dialog-head">
        <h2>{title}</h2>
        <button type="button" className="quiet-button" onClick={onClose} aria-label={t("common.close")}>
          ✕
        </button>
      </div>
      {children}
    </dialog>
  );
}
