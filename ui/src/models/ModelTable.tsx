// The rows of the deployments; beyond a hundred only those in view exist.

import { Link, useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Instance, Model } from "../api/types";
import { bytes } from "../format";
import { ProgressBar } from "../parts/ProgressBar";
import { Simulated } from "../parts/Simulated";
import { StateMark } from "../parts/StateMark";
import { Danger } from "./Danger";
import { bestAvailable, type DeploymentRow } from "./fleet";
import type { ModelsChange, ModelsSearch, Sort } from "./search";
import { arriving, places } from "./story";
import { TRAFFIC_MINUTES } from "./useTraffic";

const MOST_WHOLE = 100;
const ROW_HEIGHT = 74;
const BEYOND = 6;
const COLUMNS = 7;

type Pick = (picked: ReadonlySet<string>) => void;

interface Props {
  rows: DeploymentRow[];
  search: ModelsSearch;
  set: (change: ModelsChange) => void;
  picked?: ReadonlySet<string>;
  onPick?: Pick;
}

export function ModelTable(props: Props) {
  const { t } = useTranslation();
  const room = useRef<HTMLDivElement>(null);
  const { rows, picked, onPick } = props;
  const isLong = rows.length > MOST_WHOLE;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => room.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: BEYOND,
    enabled: isLong,
  });
  const inView = virtual.getVirtualItems();
  const shown = isLong ? inView.map(({ index }) => index) : rows.map((_, index) => index);
  const toggle = (name: string) => {
    const next = new Set(picked);
    if (!next.delete(name)) next.add(name);
    onPick?.(next);
  };
  return (
    <section
      className={isLong ? "card models-room" : "card scroll"}
      ref={room}
      aria-label={t("models.title")}
      tabIndex={isLong ? 0 : undefined}
    >
      <table className="models" aria-rowcount={rows.length + 1}>
        <Heads {...props} />
        <tbody>
          {isLong && <Filler height={inView[0]?.start ?? 0} />}
          {shown.map((index) => {
            const row = rows[index];
            return row === undefined ? null : (
              <ModelRow
                key={row.model.id}
                row={row}
                at={index}
                measure={isLong ? virtual.measureElement : undefined}
                isPicked={picked?.has(row.model.name) ?? false}
                onToggle={onPick && toggle}
              />
            );
          })}
          {isLong && <Filler height={virtual.getTotalSize() - (inView.at(-1)?.end ?? 0)} />}
        </tbody>
      </table>
    </section>
  );
}

function Filler({ height }: { height: number }) {
  return height <= 0 ? null : (
    <tr className="filler">
      <td colSpan={COLUMNS} style={{ height }} />
    </tr>
  );
}

function Heads({ rows, search, set, picked, onPick }: Props) {
  const { t } = useTranslation();
  const names = rows.map(({ model }) => model.name);
  const areAll = names.every((name) => picked?.has(name));
  const head = (sort: Sort, words: string, className = "") => {
    const isSorted = (search.sort ?? "name") === sort;
    const direction = search.desc ? "descending" : "ascending";
    return (
      <th className={className} aria-sort={isSorted ? direction : undefined}>
        <button
          type="button"
          className="sorter"
          onClick={() => set({ sort, desc: isSorted && !search.desc ? true : undefined })}
        >
          {words}
          <span aria-hidden="true">{isSorted ? (search.desc ? " ↓" : " ↑") : ""}</span>
        </button>
      </th>
    );
  };
  return (
    <thead>
      <tr>
        <th className="col-pick">
          {onPick && (
            <input
              type="checkbox"
              aria-label={t("deployments.pickAll")}
              checked={areAll}
              onChange={() => onPick(new Set(areAll ? [] : names))}
            />
          )}
        </th>
        {head("name", t("models.model"), "col-model")}
        {head("state", t("models.state"))}
        {head("ready", t("models.ready"), "col-ready")}
        {head("claimed", t("deployments.memory"), "col-memory")}
        {head("traffic", t("deployments.traffic", { count: TRAFFIC_MINUTES }), "col-traffic")}
        <th className="col-where">{t("models.where")}</th>
      </tr>
    </thead>
  );
}

interface RowProps {
  row: DeploymentRow;
  at: number;
  measure: ((row: HTMLTableRowElement | null) => void) | undefined;
  isPicked: boolean;
  onToggle: ((name: string) => void) | undefined;
}

function ModelRow({ row, at, measure, isPicked, onToggle }: RowProps) {
  const { t } = useTranslation();
  const { model, instances } = row;
  const onItsWay = arriving(instances);
  return (
    <tr
      ref={measure}
      data-index={at}
      data-model={model.name}
      data-state={model.state}
      aria-rowindex={at + 2}
      className={isPicked ? "is-picked" : undefined}
    >
      <td className="col-pick">
        {onToggle && (
          <input
            type="checkbox"
            aria-label={t("deployments.pick", { model: model.name })}
            checked={isPicked}
            onChange={() => onToggle(model.name)}
          />
        )}
      </td>
      <td>
        <Link className="name" to="/models/$" params={{ _splat: model.name }}>
          {model.name}
        </Link>
        <div className="soft small mono cut" title={model.source}>
          {model.source}
        </div>
        <Danger model={model} />
      </td>
      <td>
        <StateMark state={model.state} />
        {model.state_message && <p className="sentence">{model.state_message}</p>}
        <Shortfall instances={instances} />
        {onItsWay?.progress && <ProgressBar progress={onItsWay.progress} />}
      </td>
      <td>
        <Replicas model={model} />
      </td>
      <td className="figures">
        <Memory row={row} />
      </td>
      <td className="figures">
        <TrafficOf row={row} />
      </td>
      <td>
        <Places instances={instances} />
        {onToggle && <CopyOf model={model} />}
      </td>
    </tr>
  );
}

/** What is missing, as two amounts: what one worker must have, and the most that one has. */
function Shortfall({ instances }: { instances: Instance[] }) {
  const { t } = useTranslation();
  const best = bestAvailable(instances);
  if (best === null) return null;
  return (
    <div className="shortfall small">
      {t("deployments.shortfall", {
        needed: bytes(best.needed_bytes ?? 0),
        free: bytes(best.free_bytes ?? 0),
        worker: best.worker ?? t("common.unknown"),
      })}
    </div>
  );
}

function Memory({ row: { claimed, used } }: { row: DeploymentRow }) {
  const { t } = useTranslation();
  if (claimed === null) return t("common.none");
  return (
    <>
      <div>{t("deployments.claimed", { size: bytes(claimed) })}</div>
      <div className="soft">
        {used === null ? t("deployments.usedUnknown") : t("deployments.used", { size: bytes(used) })}
      </div>
    </>
  );
}

function TrafficOf({ row: { traffic } }: { row: DeploymentRow }) {
  const { t } = useTranslation();
  if (traffic === null || traffic.requests === 0) return <span className="soft">{t("common.none")}</span>;
  const rate = traffic.completion_tokens / (TRAFFIC_MINUTES * 60);
  return (
    <>
      <div>{t("deployments.requests", { count: traffic.requests })}</div>
      <div className="soft">{t("deployments.rate", { rate: rate.toFixed(rate < 10 ? 1 : 0) })}</div>
    </>
  );
}

/** A draft with the same configuration. */
function CopyOf({ model: { name } }: { model: Model }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  return (
    <button
      type="button"
      className="quiet-button copy-of"
      onClick={() => void navigate({ to: "/deploy", search: { copy: name } })}
    >
      {t("deployments.copy")}
      <span className="hidden">{` ${name}`}</span>
    </button>
  );
}

const MOST_PIPS = 6;

function Replicas({ model: { ready_replicas: ready, replicas: desired } }: { model: Model }) {
  const { t } = useTranslation();
  const pips = desired <= MOST_PIPS ? Array.from({ length: desired }, (_, index) => index) : [];
  return (
    <span title={t("models.readyOf", { ready, desired })}>
      <span aria-hidden="true">
        {ready} / {desired}
        <span className="pips">
          {pips.map((index) => (
            <i key={index} className={index < ready ? "on" : ""} />
          ))}
        </span>
      </span>
      <span className="hidden">{t("models.readyOf", { ready, desired })}</span>
    </span>
  );
}

function Places({ instances }: { instances: Instance[] }) {
  const { t } = useTranslation();
  const names = places(instances);
  return (
    <>
      <div className="mono where">{names.length > 0 ? names.join(", ") : t("common.none")}</div>
      {instances.some(({ simulated }) => simulated) && <Simulated />}
    </>
  );
}
