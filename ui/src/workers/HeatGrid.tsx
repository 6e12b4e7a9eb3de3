// Every device of every worker at a glance: one canvas, of which only the rows in view are drawn.

import { type KeyboardEvent, type MouseEvent, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { draw, ROW_HEIGHT, spotAt, step } from "./drawing";
import { type FleetRow, type Quantity, troubleOf } from "./fleet";

const MOST_HEIGHT = 560;
/** Readings come in bursts; more than two paints a second tell nobody more. */
const PAINT_MS = 500;

interface Props {
  rows: FleetRow[];
  quantity: Quantity;
  onOpen: (worker: string) => void;
}

export interface Spot {
  row: number;
  column: number;
}

export function HeatGrid({ rows, quantity, onOpen }: Props) {
  const { t } = useTranslation();
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLElement>(null);
  const [spot, setSpot] = useState<Spot | null>(null);
  const shown = useRef({ rows, spot });
  shown.current = { rows, spot };
  const paint = useThrottledPaint(() => {
    if (canvas.current !== null && box.current !== null) {
      draw(canvas.current, box.current.scrollTop, shown.current.rows, shown.current.spot);
    }
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is drawn is read when it is painted
  useEffect(() => paint(false), [rows, paint]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the mark follows the keys at once
  useEffect(() => paint(true), [spot, paint]);
  useEffect(() => {
    const again = () => paint(true);
    const themes = new MutationObserver(again);
    themes.observe(document.documentElement, { attributes: true });
    addEventListener("resize", again);
    return () => {
      themes.disconnect();
      removeEventListener("resize", again);
    };
  }, [paint]);

  const devices = rows.reduce((sum, { cells }) => sum + cells.length, 0);
  const words = { workers: rows.length, devices, quantity: t(`fleet.quantities.${quantity}`) };
  const point = (event: MouseEvent<HTMLCanvasElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    return spotAt(event.clientX - left, event.clientY - top + (box.current?.scrollTop ?? 0), rows);
  };
  const open = (at: Spot | null) => {
    const row = at === null ? undefined : rows[at.row];
    if (row !== undefined) onOpen(row.worker.name);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter") open(spot);
    const next = step(spot, event.key, rows);
    if (next === null) return;
    event.preventDefault();
    setSpot(next);
    reveal(box.current, next.row);
  };
  return (
    <>
      <section
        ref={box}
        className="card heat"
        style={{ maxHeight: MOST_HEIGHT }}
        tabIndex={0}
        aria-label={t("fleet.gridLabel", words)}
        aria-describedby="heat-help"
        onKeyDown={press}
        onScroll={() => paint(true)}
      >
        <div className="heat-room" style={{ height: rows.length * ROW_HEIGHT }}>
          <canvas
            ref={canvas}
            role="img"
            aria-label={t("fleet.gridLabel", words)}
            style={{ height: Math.min(MOST_HEIGHT - 2, rows.length * ROW_HEIGHT) }}
            onClick={(event) => open(point(event))}
            onMouseMove={(event) => setSpot(point(event))}
            onMouseLeave={() => setSpot(null)}
          />
        </div>
      </section>
      <p className="sentence" id="heat-help">
        {t("fleet.gridHelp")}
      </p>
      <p className="heat-said" role="status">
        {useSaid(rows, spot, quantity)}
      </p>
    </>
  );
}

function useSaid(rows: FleetRow[], spot: Spot | null, quantity: Quantity): string {
  const { t } = useTranslation();
  const cell = spot === null ? undefined : rows[spot.row]?.cells[spot.column];
  if (cell === undefined) return " ";
  const { device } = cell;
  const trouble = troubleOf(device);
  return t("fleet.cellOf", {
    device: `${device.worker}:${device.index}`,
    chip: device.chip,
    quantity: t(`fleet.quantities.${quantity}`),
    text: quantity === "temperature" ? cell.text : `${cell.text} %`,
    health: trouble === null ? t(`health.${device.health}`) : t(`fleet.trouble.${trouble}`),
  });
}

function reveal(box: HTMLElement | null, row: number): void {
  if (box === null) return;
  const top = row * ROW_HEIGHT;
  if (top < box.scrollTop) box.scrollTop = top;
  const below = top + ROW_HEIGHT - box.clientHeight;
  if (below > box.scrollTop) box.scrollTop = below;
}

/** Paints at once when told so, else at most every `PAINT_MS`, and always in a frame of the browser. */
function useThrottledPaint(does: () => void): (isUrgent: boolean) => void {
  const state = useRef({ last: 0, timer: 0, does });
  state.current.does = does;
  const paint = useRef((isUrgent: boolean) => {
    const { last, timer } = state.current;
    if (timer !== 0 && !isUrgent) return;
    clearTimeout(timer);
    const wait = isUrgent ? 0 : Math.max(0, last + PAINT_MS - performance.now());
    state.current.timer = window.setTimeout(() => {
      state.current.timer = 0;
      state.current.last = performance.now();
      requestAnimationFrame(() => state.current.does());
    }, wait);
  });
  useEffect(() => () => clearTimeout(state.current.timer), []);
  return paint.current;
}
