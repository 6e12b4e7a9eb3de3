// How far a starting instance has come; moves without a figure where nobody knows the total.

import { useTranslation } from "react-i18next";
import type { Progress } from "../api/types";
import { bytes } from "../format";

export function ProgressBar({ progress }: { progress: Progress }) {
  const { t } = useTranslation();
  const fraction = fractionOf(progress);
  const label = t(`progress.${progress.phase}`);
  const percent = fraction === null ? null : Math.floor(fraction * 100);
  return (
    <div className="progress">
      <div className="words">
        <span>{label}</span>
        <span>
          {progress.bytes_done !== null && progress.bytes_total !== null
            ? t("progress.bytes", { done: bytes(progress.bytes_done), total: bytes(progress.bytes_total) })
            : percent !== null && `${percent} %`}
        </span>
      </div>
      <div
        className={percent === null ? "track unknown" : "track"}
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent ?? undefined}
      >
        <i style={percent === null ? undefined : { width: `${percent}%` }} />
      </div>
    </div>
  );
}

export function fractionOf({ fraction, bytes_done, bytes_total }: Progress): number | null {
  if (fraction !== null) return Math.min(1, Math.max(0, fraction));
  if (bytes_done === null || bytes_total === null || bytes_total <= 0) return null;
  return Math.min(1, bytes_done / bytes_total);
}
