// The first page: what needs somebody, what is free, what passes through; and, on a new platform, what to do first.

import "./overview.css";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { bytes, count } from "../format";
import { Loaded } from "../parts/Loaded";
import { Meter } from "../parts/Meter";
import { ShapeIcon } from "../parts/StateMark";
import { useDevices, useInstances, useMe, useModels, usePlatform, useWorkers } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { spanOf } from "../usage/search";
import { curveOf, type Sum, total } from "../usage/sums";
import { byChip } from "../workers/fleet";
import { isGrave, lookOf, type Matter } from "./attention";
import { useAttention } from "./useAttention";

const Chart = lazy(() => import("../parts/Chart"));
const MOST_SHOWN = 12;
const EVERY_MS = 15_000;

export function OverviewPage() {
  const { t } = useTranslation();
  const models = useModels();
  usePageTitle(t("overview.title"));
  return (
    <>
      <div className="page-head">
        <h1>{t("overview.title")}</h1>
      </div>
      <Loaded query={models}>
        {() => (
          <>
            <FirstSteps />
            <Attention />
            <Capacity />
            <Traffic />
          </>
        )}
      </Loaded>
    </>
  );
}

function Attention() {
  const { t } = useTranslation();
  const devices = useDevices();
  const matters = useAttention(devices.data?.items);
  const shown = matters.slice(0, MOST_SHOWN);
  return (
    <section aria-labelledby="attention">
      <h2 id="attention">{t("overview.attention")}</h2>
      {matters.length === 0 ? (
        <p className="calm">
          <ShapeIcon shape="check" tone="ok" /> {t("overview.calm")}
        </p>
      ) : (
        <ul className="matters card">
          {shown.map((matter) => (
            <MatterRow key={matter.id} matter={matter} />
          ))}
        </ul>
      )}
      {matters.length > shown.length && (
        <p className="sentence">{t("overview.more", { count: matters.length - shown.length })}</p>
      )}
    </section>
  );
}

function MatterRow({ matter }: { matter: Matter }) {
  const { t } = useTranslation();
  const [shape, tone] = lookOf(matter);
  const isSilent = matter.word === "silent";
  const sentence = isSilent ? t("overview.silentSentence") : matter.sentence;
  const remedy = isSilent ? t("overview.silentRemedy") : matter.remedy;
  return (
    <li data-matter={matter.id} data-grade={isGrave(matter) ? "grave" : "waits"}>
      <ShapeIcon shape={shape} tone={tone} />
      <div>
        <div>
          <span className="soft small">{t(`overview.kinds.${matter.kind}`)}</span>{" "}
          <WhereItIs matter={matter} /> <span className="soft">{t(`overview.words.${matter.word}`)}</span>
        </div>
        {sentence && <p className="sentence">{sentence}</p>}
        {remedy && (
          <p className="sentence">
            <strong>{t("overview.remedy")}</strong> {remedy}
          </p>
        )}
      </div>
    </li>
  );
}

function WhereItIs({ matter: { kind, name, worker } }: { matter: Matter }) {
  if (kind === "model") {
    return (
      <Link className="name" to="/models/$" params={{ _splat: name }}>
        {name}
      </Link>
    );
  }
  if (kind === "files") {
    return (
      <Link className="name" to="/files">
        {name}
      </Link>
    );
  }
  return (
    <Link className="name" to="/workers/$name" params={{ name: worker ?? name }}>
      {name}
    </Link>
  );
}

function useFirstCall(): boolean | null {
  const { api } = usePlatform();
  const asked = useQuery({
    queryKey: ["first-call"],
    refetchInterval: (query) => ((query.state.data ?? 0) > 0 ? false : 5000),
    queryFn: async () => (await api.get<{ total: number }>("/api/v1/requests?limit=1")).total,
  });
  return asked.data === undefined ? null : asked.data > 0;
}

/** A list that ticks itself, and is gone when all is ticked. */
function FirstSteps() {
  const { t } = useTranslation();
  const isAdmin = useMe().data?.role === "admin";
  const workers = useWorkers();
  const models = useModels();
  const isCalled = useFirstCall();
  if (!isAdmin || workers.data === undefined || models.data === undefined || isCalled === null) return null;
  const steps = [
    { id: "worker", isDone: workers.data.items.some(({ state }) => state === "ready"), to: "/workers/add" },
    { id: "model", isDone: models.data.items.length > 0, to: "/deploy" },
    { id: "call", isDone: isCalled, to: "/access" },
  ] as const;
  if (steps.every(({ isDone }) => isDone)) return null;
  return (
    <section className="card first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">{t("overview.steps")}</h2>
      <ol>
        {steps.map(({ id, isDone, to }) => (
          <li key={id} data-step={id} data-done={isDone}>
            <ShapeIcon shape={isDone ? "check" : "dashed"} tone={isDone ? "ok" : "wait"} />
            <span>{t(`overview.${id}`)}</span>
            {isDone ? (
              <span className="soft small">{t("overview.done")}</span>
            ) : (
              <Link className="button" to={to}>
                {t(`overview.${id}How`)}
              </Link>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Capacity() {
  const { t } = useTranslation();
  const devices = useDevices();
  const workers = useWorkers();
  const instances = useInstances();
  const chips = useMemo(() => byChip(devices.data?.items ?? []), [devices.data]);
  const living = (workers.data?.items ?? []).filter(({ state }) => state === "ready");
  const ram = {
    total: living.reduce((sum, each) => sum + (each.ram_total_bytes ?? 0), 0),
    used: living.reduce((sum, each) => sum + (each.ram_used_bytes ?? 0), 0),
    claimed: (instances.data?.items ?? []).reduce(
      (sum, { holds_claim, claim }) => sum + (holds_claim ? (claim?.ram_bytes ?? 0) : 0),
      0,
    ),
  };
  if (living.length === 0) return null;
  return (
    <section aria-labelledby="capacity">
      <h2 id="capacity">{t("overview.capacity")}</h2>
      <div className="capacity">
        {chips.map((chip) => (
          <div className="card" key={chip.chip} data-chip={chip.chip}>
            <div className="figure-head">
              <span className="name">{chip.chip}</span>
              <span className="soft small">{t("overview.devices", { count: chip.devices })}</span>
              <span className="push">
                {t("overview.free", {
                  bytes: bytes(Math.max(0, chip.total - Math.max(chip.claimed, chip.used))),
                })}
              </span>
            </div>
            <Meter label={chip.chip} total={chip.total} claimed={chip.claimed} used={chip.used} />
          </div>
        ))}
        <div className="card" data-chip="ram">
          <div className="figure-head">
            <span className="name">{t("overview.ram")}</span>
            <span className="push">
              {t("overview.free", { bytes: bytes(Math.max(0, ram.total - Math.max(ram.claimed, ram.used))) })}
            </span>
          </div>
          <Meter label={t("overview.ram")} {...ram} />
        </div>
      </div>
    </section>
  );
}

function useLastDay() {
  const { api } = usePlatform();
  const span = spanOf({ range: "24h" }, Date.now());
  const from = span.from.toISOString();
  return useQuery({
    queryKey: ["overview-traffic", from],
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ by: "hour", from, to: span.to.toISOString() });
      const numberOf = async (status: string) =>
        (
          await api.get<{ total: number }>(
            `/api/v1/requests?${new URLSearchParams({ status, from, limit: "1" })}`,
            signal,
          )
        ).total;
      const [sums, failed, refused] = await Promise.all([
        api.get<{ items: Sum[] }>(`/api/v1/usage?${query}`, signal),
        numberOf("5xx"),
        numberOf("429"),
      ]);
      return { rows: sums.items, span, failed, refused };
    },
  });
}

function Traffic() {
  const { t } = useTranslation();
  const day = useLastDay();
  const curve = useMemo(
    () => day.data && curveOf(day.data.rows, day.data.span, "requests", () => t("overview.requests"), ""),
    [day.data, t],
  );
  if (day.data === undefined || curve === undefined) return null;
  const { rows, failed, refused } = day.data;
  const asked = total(rows, "requests");
  return (
    <section aria-labelledby="traffic">
      <h2 id="traffic">{t("overview.traffic")}</h2>
      <div className="card">
        <dl className="figures">
          <Figure name={t("overview.requests")} value={asked} />
          <Figure name={t("overview.tokens")} value={total(rows, "tokens")} />
          <Figure name={t("overview.failedRequests")} value={failed} status="5xx" />
          <Figure name={t("overview.refusedRequests")} value={refused} status="429" />
        </dl>
        {asked > 0 && (
          <Suspense fallback={<p className="chart-room" />}>
            <Chart label={t("overview.curve", { total: count(asked) })} {...curve} />
          </Suspense>
        )}
      </div>
    </section>
  );
}

function Figure({ name, value, status }: { name: string; value: number; status?: string }) {
  return (
    <div>
      <dt className="soft small">{name}</dt>
      <dd>
        {status !== undefined && value > 0 ? (
          <Link to="/requests" search={{ status }}>
            {count(value)}
          </Link>
        ) : (
          count(value)
        )}
      </dd>
    </div>
  );
}
