// The scheduler's answer to the draft: fits or not, where, memory by term, and what would help.

import { useTranslation } from "react-i18next";
import { ApiError } from "../api/client";
import { bytes } from "../format";
import { Mark } from "../parts/StateMark";
import type { Spec } from "./spec";
import { type Evaluation, useFit } from "./useFit";

interface Props {
  spec: Spec;
  onApply: (change: Record<string, unknown>) => void;
}

export function FitPanel({ spec, onApply }: Props) {
  const { t } = useTranslation();
  const fit = useFit(spec);
  return (
    <section className="card fit" aria-label={t("deploy.fit")} aria-live="polite" aria-busy={fit.isFetching}>
      <h2>{t("deploy.fit")}</h2>
      {spec.source === "" ? (
        <p className="soft">{t("deploy.fitSource")}</p>
      ) : fit.error instanceof ApiError ? (
        <p className="notice is-bad">{fit.error.message || t("session.unreachable")}</p>
      ) : fit.data === undefined ? (
        <p className="soft">{t("deploy.asking")}</p>
      ) : (
        <Answer fit={fit.data} onApply={onApply} />
      )}
    </section>
  );
}

function Answer({ fit, onApply }: { fit: Evaluation; onApply: Props["onApply"] }) {
  const { t } = useTranslation();
  const parts = fit.placement?.devices.length ? fit.placement.devices.join(", ") : fit.placement?.worker;
  return (
    <>
      <p className="verdict" data-fits={fit.fits}>
        <Mark
          look={fit.fits ? ["check", "ok"] : ["cross", "bad"]}
          word={t(fit.fits ? "deploy.fits" : "deploy.fitsNot")}
        />
        {parts && <span className="soft"> {t("deploy.on", { where: parts })}</span>}
      </p>
      <Numbers fit={fit} />
      {fit.memory !== null && <Memory memory={fit.memory} />}
      {fit.reasons.length > 0 && (
        <>
          <h3>{t("deploy.why")}</h3>
          <ul className="plain">
            {fit.reasons.map(({ worker, code, message }) => (
              <li key={`${worker} ${code}`}>{message}</li>
            ))}
          </ul>
        </>
      )}
      {fit.remedies.length > 0 && (
        <>
          <h3>{t("deploy.remedies")}</h3>
          <ul className="plain">
            {fit.remedies.map(({ message, change }) => (
              <li key={message}>
                {message}
                {Object.keys(change).length > 0 && (
                  <button type="button" className="quiet-button" onClick={() => onApply(change)}>
                    {t("deploy.apply")}
                    <span className="hidden">: {message}</span>
                  </button>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {fit.warnings.length > 0 && (
        <>
          <h3>{t("deploy.warnings")}</h3>
          <ul className="plain">
            {fit.warnings.map(({ message }) => (
              <li key={message}>{message}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Numbers({ fit }: { fit: Evaluation }) {
  const { t } = useTranslation();
  const split = Object.entries(fit.parallel).map(([name, count]) => `${name} ${count}`);
  const download =
    fit.download_bytes === null
      ? null
      : t("deploy.downloadOf", {
          size: bytes(fit.download_bytes),
          free: fit.disk_free_bytes === null ? t("common.unknown") : bytes(fit.disk_free_bytes),
        });
  const facts: [string, string | null][] = [
    [t("deploy.engine"), fit.backend],
    [
      t("deploy.context"),
      fit.context_length === null
        ? null
        : `${t("deploy.tokens", { count: fit.context_length })} · ${fit.context_reason.message}`,
    ],
    [t("deploy.parallel"), split.join(", ") || null],
    [t("deploy.download"), download],
  ];
  return (
    <dl className="lines">
      {facts.map(([name, value]) =>
        value === null ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

function Memory({ memory }: { memory: NonNullable<Evaluation["memory"]> }) {
  const { t } = useTranslation();
  const whole = memory.terms.reduce((sum, { size_bytes: size }) => sum + size, 0) || 1;
  const sizes = [
    memory.device_count > 0
      ? t("deploy.perDevice", { count: memory.device_count, size: bytes(memory.per_device_bytes) })
      : "",
    memory.ram_bytes > 0 ? t("deploy.ram", { size: bytes(memory.ram_bytes) }) : "",
  ].filter(Boolean);
  return (
    <>
      <h3>
        {t("deploy.memory")} <span className="soft">{sizes.join(", ")}</span>
      </h3>
      <div className="terms-bar" aria-hidden="true">
        {memory.terms.map(({ code, message, size_bytes: size }, index) => (
          <i
            key={`${code} ${message}`}
            className={`term-${index % 5}`}
            style={{ width: `${(100 * size) / whole}%` }}
          />
        ))}
      </div>
      <ul className="terms">
        {memory.terms.map(({ code, message, size_bytes: size }, index) => (
          <li key={`${code} ${message}`}>
            <i className={`swatch term-${index % 5}`} />
            <span>{message}</span>
            <span className="mono">{bytes(size)}</span>
          </li>
        ))}
      </ul>
      <p className="sentence">{memory.figures.message}</p>
    </>
  );
}
