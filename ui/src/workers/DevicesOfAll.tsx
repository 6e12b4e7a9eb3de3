// The devices of all workers as rows; only those in view exist.

import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Device } from "../api/types";
import { bytes } from "../format";
import { HealthMark } from "../parts/StateMark";
import { type FleetRow, memoryWords, troubleOf } from "./fleet";

const ROW_HEIGHT = 47;
const BEYOND = 4;

export function DevicesOfAll({ rows }: { rows: FleetRow[] }) {
  const { t } = useTranslation();
  const room = useRef<HTMLDivElement>(null);
  const devices = rows.flatMap(({ cells }) => cells.map(({ device }) => device));
  const virtual = useVirtualizer({
    count: devices.length,
    getScrollElement: () => room.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: BEYOND,
  });
  const shown = virtual.getVirtualItems();
  const above = shown[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (shown.at(-1)?.end ?? 0);
  return (
    <section className="card rows-room" ref={room} tabIndex={0} aria-label={t("fleet.devices")}>
      <table aria-rowcount={devices.length}>
        <thead>
          <tr>
            <th>{t("workers.device")}</th>
            <th>{t("fleet.chip")}</th>
            <th>{t("workers.health")}</th>
            <th className="number">{t("fleet.quantities.used")}</th>
            <th className="number">{t("fleet.quantities.claimed")}</th>
            <th className="number">{t("workers.use")}</th>
            <th className="number">{t("workers.temperature")}</th>
          </tr>
        </thead>
        <tbody>
          <Filler height={above} />
          {shown.map(({ index }) => {
            const device = devices[index];
            return device === undefined ? null : <Row key={device.id} device={device} at={index} />;
          })}
          <Filler height={below} />
        </tbody>
      </table>
    </section>
  );
}

function Filler({ height }: { height: number }) {
  return height <= 0 ? null : (
    <tr className="filler">
      <td colSpan={7} style={{ height }} />
    </tr>
  );
}

function Row({ device, at }: { device: Device; at: number }) {
  const { t } = useTranslation();
  const trouble = troubleOf(device);
  return (
    <tr aria-rowindex={at + 1} data-device={`${device.worker}:${device.index}`}>
      <td>
        <Link className="mono" to="/workers/$name" params={{ name: device.worker }}>
          {`${device.worker}:${device.index}`}
        </Link>
      </td>
      <td>{device.chip}</td>
      <td>
        <HealthMark health={device.health} />
        {trouble !== null && <span className="trouble small"> {t(`fleet.trouble.${trouble}`)}</span>}
      </td>
      <td className="number">{memoryWords(device)}</td>
      <td className="number">{bytes(device.memory_claimed_bytes)}</td>
      <td className="number">{figure(device.utilization, "%")}</td>
      <td className="number">{figure(device.temperature_c, "°C")}</td>
    </tr>
  );
}

export function figure(value: number | null, unit: string): string {
  return value === null ? "–" : `${Math.round(value)} ${unit}`;
}
