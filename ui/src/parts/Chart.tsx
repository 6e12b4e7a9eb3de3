// Lines over time, drawn by uPlot, which is loaded with the first chart. Each line is told apart by its dashes, too.

import "uplot/dist/uPlot.min.css";
import "./chart.css";
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";

interface Props {
  label: string;
  /** Seconds since 1970. */
  times: number[];
  series: { name: string; values: number[] }[];
}

const HEIGHT = 260;
const COLOURS = ["--accent", "--busy", "--wait", "--bad", "--ink", "--off"];
const DASHES = [[], [7, 3], [2, 3], [10, 3, 2, 3], [1, 4], [14, 4]];

export default function Chart({ label, times, series }: Props) {
  const room = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are read anew when the scheme changes
  useEffect(() => {
    const box = room.current;
    if (box === null) return;
    const chart = new uPlot(optionsOf(series, box), [times, ...series.map(({ values }) => values)], box);
    const watch = new ResizeObserver(() => chart.setSize({ width: box.clientWidth, height: HEIGHT }));
    watch.observe(box);
    return () => {
      watch.disconnect();
      chart.destroy();
    };
  }, [times, series, scheme]);
  return (
    <figure className="chart">
      <div ref={room} role="img" aria-label={label} />
      <figcaption>
        {series.map(({ name }, at) => (
          <span key={name}>
            <svg viewBox="0 0 26 8" width="26" height="8" aria-hidden="true" className={`line-${at}`}>
              <path d="M0 4h26" strokeDasharray={DASHES[at]?.join(" ")} />
            </svg>
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function optionsOf(series: Props["series"], box: HTMLElement): uPlot.Options {
  const colour = (name: string) => getComputedStyle(box).getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--ink-soft"),
    font: `12px ${getComputedStyle(box).fontFamily}`,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: box.clientWidth,
    height: HEIGHT,
    padding: [12, 14, 0, 0],
    cursor: { y: false },
    legend: { show: false },
    tzDate: (time) => uPlot.tzDate(new Date(time * 1000), "UTC"),
    scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.08)] } },
    axes: [
      { ...axis, values: (_, splits, __, ___, pace) => momentsOf(splits, pace) },
      { ...axis, size: 56, values: (_, splits) => splits.map(short) },
    ],
    series: [
      {},
      ...series.map(({ name }, at) => ({
        label: name,
        stroke: colour(COLOURS[at] ?? "--off"),
        width: 2,
        dash: DASHES[at] ?? [],
        points: { show: false },
      })),
    ],
  };
}

const DAY = 86_400;

/** 07:00, with its date below it where a day begins; days alone where a step is a day or more. All of UTC. */
export function momentsOf(splits: number[], pace: number): string[] {
  return splits.map((split, at) => {
    const moment = new Date(split * 1000).toISOString();
    const date = moment.slice(5, 10);
    if (pace >= DAY) return date;
    const begins = at === 0 || split % DAY === 0;
    return begins ? `${moment.slice(11, 16)}\n${date}` : moment.slice(11, 16);
  });
}

/** 1200 -> "1.2k" */
export function short(value: number): string {
  const [size, unit] =
    value >= 1e9 ? [1e9, "G"] : value >= 1e6 ? [1e6, "M"] : value >= 1e3 ? [1e3, "k"] : [1, ""];
  return `${Number((value / size).toFixed(1))}${unit}`;
}
