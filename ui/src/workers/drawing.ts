// How the heat grid is drawn: a row a worker, a box a device; colour, figure and shape say the same.

import { type Cell, type FleetRow, troubleOf } from "./fleet";
import type { Spot } from "./HeatGrid";

export const ROW_HEIGHT = 34;
export const HEAD_WIDTH = 190;
const CELL_WIDTH = 46;
const GAP = 4;

export function spotAt(x: number, y: number, rows: FleetRow[]): Spot | null {
  const row = Math.floor(y / ROW_HEIGHT);
  const column = Math.floor((x - HEAD_WIDTH) / CELL_WIDTH);
  const cells = rows[row]?.cells;
  return cells === undefined || column < 0 || column >= cells.length ? null : { row, column };
}

const STEPS: Record<string, [rows: number, columns: number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Where an arrow key leads; null where it leads nowhere or is no arrow. */
export function step(from: Spot | null, key: string, rows: FleetRow[]): Spot | null {
  const way = STEPS[key];
  if (way === undefined || rows.length === 0) return null;
  if (from === null) return { row: 0, column: 0 };
  const row = clamp(from.row + way[0], rows.length);
  const column = clamp(from.column + way[1], Math.max(1, rows[row]?.cells.length ?? 0));
  return { row, column };
}

function clamp(at: number, count: number): number {
  return Math.max(0, Math.min(count - 1, at));
}

interface Colours {
  ink: string;
  soft: string;
  line: string;
  accent: string;
  bad: string;
  card: string;
}

export function draw(
  canvas: HTMLCanvasElement,
  scrollTop: number,
  rows: FleetRow[],
  spot: Spot | null,
): void {
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  pen.scale(scale, scale);
  pen.clearRect(0, 0, width, height);
  const style = getComputedStyle(canvas);
  const colours = coloursOf(style);
  pen.textBaseline = "middle";
  const first = Math.floor(scrollTop / ROW_HEIGHT);
  const last = Math.min(rows.length, Math.ceil((scrollTop + height) / ROW_HEIGHT) + 1);
  for (let row = first; row < last; row += 1) {
    const each = rows[row];
    if (each === undefined) continue;
    const top = row * ROW_HEIGHT - scrollTop;
    drawName(pen, each.worker.name, top, colours, style.fontFamily);
    each.cells.forEach((cell, column) => {
      const isMarked = spot?.row === row && spot.column === column;
      drawCell(pen, cell, HEAD_WIDTH + column * CELL_WIDTH, top, colours, style.fontFamily, isMarked);
    });
  }
}

function coloursOf(style: CSSStyleDeclaration): Colours {
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    ink: of("--ink"),
    soft: of("--ink-soft"),
    line: of("--line-strong"),
    accent: of("--accent"),
    bad: of("--bad"),
    card: of("--card"),
  };
}

type Pen = CanvasRenderingContext2D;

function drawName(pen: Pen, name: string, top: number, { ink }: Colours, family: string): void {
  pen.font = `600 13px ${family}`;
  pen.textAlign = "left";
  pen.fillStyle = ink;
  pen.fillText(fitted(pen, name, HEAD_WIDTH - 28), 16, top + ROW_HEIGHT / 2);
}

function fitted(pen: Pen, text: string, width: number): string {
  let shown = text;
  while (shown.length > 1 && pen.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
  return shown;
}

function drawCell(
  pen: Pen,
  cell: Cell,
  left: number,
  top: number,
  colours: Colours,
  family: string,
  isMarked: boolean,
): void {
  const [x, y, w, h] = [left, top + GAP, CELL_WIDTH - GAP, ROW_HEIGHT - 2 * GAP];
  const trouble = troubleOf(cell.device);
  pen.beginPath();
  pen.roundRect(x + 0.5, y + 0.5, w - 1, h - 1, 5);
  if (cell.fraction !== null) {
    pen.globalAlpha = 0.1 + 0.55 * Math.min(1, cell.fraction);
    pen.fillStyle = trouble === null ? colours.accent : colours.bad;
    pen.fill();
    pen.globalAlpha = 1;
  }
  pen.setLineDash(trouble === null ? [] : [4, 3]);
  pen.lineWidth = isMarked ? 2.5 : 1;
  pen.strokeStyle = isMarked ? colours.ink : trouble === null ? colours.line : colours.bad;
  pen.stroke();
  pen.setLineDash([]);
  pen.font = `500 12.5px ${family}`;
  pen.textAlign = "center";
  pen.fillStyle = cell.fraction === null ? colours.soft : colours.ink;
  pen.fillText(trouble === null ? cell.text : `✕ ${cell.text}`, x + w / 2, y + h / 2 + 0.5);
}
