// How fast it was: TTFT, TPOT, tokens per second and tokens, of one answer or of all together.

import { useTranslation } from "react-i18next";
import { figuresOf, type Run, totalOf } from "./run";

export function FigureStrip({ run }: { run: Run }) {
  const { t } = useTranslation();
  const { ttft, tpot, rate, tokens, isCounted, prompt } = figuresOf(run);
  return (
    <dl className="figures" data-over={run.ended !== null}>
      <Figure name={t("playground.ttft")} help={t("playground.ttftHelp")} value={moment(ttft)} />
      <Figure name={t("playground.tpot")} help={t("playground.tpotHelp")} value={moment(tpot)} />
      <Figure name={t("playground.rate")} help={t("playground.rateHelp")} value={pace(rate)} />
      <Figure
        name={t("playground.tokens")}
        help={t(isCounted ? "playground.tokensCounted" : "playground.tokensTold")}
        value={isCounted ? `≈ ${tokens}` : String(tokens)}
        more={prompt === null ? undefined : t("playground.promptTokens", { count: prompt })}
      />
    </dl>
  );
}

export function TotalStrip({ runs }: { runs: Run[] }) {
  const { t } = useTranslation();
  const { ttft, tpot, rate, tokens, isCounted } = totalOf(runs);
  const range = ttft && `${moment(ttft[0])} – ${moment(ttft[1])}`;
  return (
    <dl className="figures is-total" data-over={rate !== null}>
      <Figure name={t("playground.ttft")} help={t("playground.ttftHelp")} value={range ?? "–"} />
      <Figure name={t("playground.tpot")} help={t("playground.tpotHelp")} value={moment(tpot)} />
      <Figure name={t("playground.rate")} help={t("playground.rateHelp")} value={pace(rate)} />
      <Figure
        name={t("playground.tokens")}
        help={t(isCounted ? "playground.tokensCounted" : "playground.tokensTold")}
        value={isCounted ? `≈ ${tokens}` : String(tokens)}
      />
    </dl>
  );
}

interface FigureProps {
  name: string;
  help: string;
  value: string;
  more?: string | undefined;
}

function Figure({ name, help, value, more }: FigureProps) {
  return (
    <div title={help}>
      <dt>{name}</dt>
      <dd>
        {value}
        {more !== undefined && <span className="soft small"> {more}</span>}
      </dd>
    </div>
  );
}

/** 0.0123 -> "12 ms", 1.234 -> "1.23 s" */
export function moment(seconds: number | null): string {
  if (seconds === null) return "–";
  if (seconds < 0.0001) return "< 0.1 ms";
  if (seconds < 0.01) return `${(seconds * 1000).toFixed(1)} ms`;
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(2)} s`;
}

export function pace(perSecond: number | null): string {
  if (perSecond === null) return "–";
  return perSecond >= 100 ? String(Math.round(perSecond)) : perSecond.toFixed(1);
}
