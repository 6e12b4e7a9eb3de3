import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";
import type { InstanceState } from "../api/types";
import { bytes, clockTime, seconds } from "../format";
import { Loaded } from "../parts/Loaded";
import { StateMark } from "../parts/StateMark";
import { useModelEvents } from "../platform";
import { placedOn, type Step, type Timeline, timelineOf } from "./story";

/** How the newest instance came to be: where the time went, step by step. */
export function StartUp({ model }: { model: string }) {
  const { t } = useTranslation();
  const events = useModelEvents(model);
  return (
    <section>
      <h2>{t("model.timelineTitle")}</h2>
      <Loaded query={events}>
        {(list) => {
          const timeline = timelineOf(list.items);
          if (timeline === null) return <p className="soft">{t("model.noTimeline")}</p>;
          return <Steps timeline={timeline} />;
        }}
      </Loaded>
    </section>
  );
}

function Steps({ timeline }: { timeline: Timeline }) {
  const { t } = useTranslation();
  const { instance, worker, steps, readySeconds } = timeline;
  return (
    <div className="card timeline">
      <div className="head">
        <span className="soft">
          {worker === null
            ? t("model.timelineUnplaced", { id: instance })
            : t("model.timelineOf", { id: instance, worker })}
        </span>
        {readySeconds !== null && <strong>{t("model.total", { seconds: seconds(readySeconds) })}</strong>}
      </div>
      <Phases steps={steps} />
      <ol className="steps">
        {steps.map((step) => (
          <StepRow key={step.id} step={step} />
        ))}
      </ol>
    </div>
  );
}

const PHASES: Partial<Record<InstanceState, number>> = {
  pending: 0,
  scheduled: 0,
  preparing: 1,
  starting: 2,
};

/** The shares of the first start; the list below says the same in words. */
function Phases({ steps }: { steps: Step[] }) {
  const end = steps.findIndex(({ state }) => PHASES[state] === undefined);
  const spent = steps.slice(0, end < 0 ? steps.length : end).filter((step) => step.seconds !== null);
  if (spent.length === 0) return null;
  return (
    <div className="phases" aria-hidden="true">
      {spent.map(({ id, state, seconds: lasted }) => (
        <i key={id} className={`phase-${PHASES[state]}`} style={{ flexGrow: lasted ?? 0 }} />
      ))}
    </div>
  );
}

function StepRow({ step }: { step: Step }) {
  const { t, i18n } = useTranslation();
  return (
    <li>
      <StateMark state={step.state} />
      <time className="soft" dateTime={step.at}>
        {clockTime(step.at, i18n.language)}
      </time>
      <span className="number">{step.seconds !== null && seconds(step.seconds)}</span>
      <span className="sentence">{step.message ?? detailOf(step, t)}</span>
    </li>
  );
}

/** The numbers of a move that has no sentence of its own. */
function detailOf(step: Step, t: TFunction): string {
  const { device_count, bytes_per_device, ram_bytes, pid, port } = step.params;
  const where = placedOn(step);
  if (device_count) return t("model.placedDevices", { where, size: bytes(Number(bytes_per_device)) });
  if (ram_bytes) return t("model.placedMemory", { where, size: bytes(Number(ram_bytes)) });
  return pid && port ? t("model.processOf", { pid, port }) : "";
}
