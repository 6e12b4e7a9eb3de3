// Memory as two truths in one bar: what placements claim (hatched) and what is in use (solid).

import { useTranslation } from "react-i18next";
import { bytes } from "../format";

interface Props {
  label: string;
  total: number | null;
  claimed: number | null;
  used: number | null;
}

export function Meter({ label, total, claimed, used }: Props) {
  const { t } = useTranslation();
  const shown = (count: number | null) => (count === null ? t("common.unknown") : bytes(count));
  const width = (count: number | null) => ({
    width: `${total && count ? Math.min(100, (100 * count) / total) : 0}%`,
  });
  const words = { claimed: shown(claimed), used: shown(used), total: shown(total) };
  return (
    <div className="meter">
      <div className="bar" role="img" aria-label={`${label}: ${t("workers.meter", words)}`}>
        {claimed ? <span className="claimed" style={width(claimed)} /> : null}
        <span className="used" style={width(used)} />
      </div>
      <div className="words" aria-hidden="true">
        <span>
          <i className="swatch is-claimed" />
          {words.claimed} {t("workers.claimed")}
        </span>
        <span>
          <i className="swatch is-used" />
          {words.used} {t("workers.used")}
        </span>
        <span>{t("workers.total", { total: words.total })}</span>
      </div>
    </div>
  );
}
