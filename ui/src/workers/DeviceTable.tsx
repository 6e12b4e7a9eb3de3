import { useTranslation } from "react-i18next";
import type { Device } from "../api/types";
import { bytes } from "../format";
import { Meter } from "../parts/Meter";
import { Simulated } from "../parts/Simulated";
import { HealthMark } from "../parts/StateMark";

export function DeviceTable({ devices }: { devices: Device[] }) {
  const { t } = useTranslation();
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th>{t("workers.device")}</th>
            <th>{t("workers.memory")}</th>
            <th>{t("workers.health")}</th>
            <th className="number">{t("workers.use")}</th>
            <th className="number">{t("workers.temperature")}</th>
            <th className="number">{t("workers.power")}</th>
          </tr>
        </thead>
        <tbody>
          {devices.map((device) => (
            <DeviceRow key={device.id} device={device} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function DeviceRow({ device }: { device: Device }) {
  const { t } = useTranslation();
  const figure = (value: number | null, unit: string) =>
    value === null ? t("common.none") : `${Math.round(value)} ${unit}`;
  return (
    <tr>
      <td>
        <div className="mono">{`${device.worker}:${device.index}`}</div>
        <div className="soft small">
          {device.chip} {device.simulated && <Simulated />}
        </div>
      </td>
      <td>
        <Meter
          label={`${device.worker}:${device.index}`}
          total={device.memory_total_bytes}
          claimed={device.memory_claimed_bytes}
          used={device.memory_used_bytes}
        />
        {device.foreign_bytes ? (
          <p className="sentence">{t("workers.foreign", { size: bytes(device.foreign_bytes) })}</p>
        ) : null}
      </td>
      <td>
        <HealthMark health={device.health} />
        {!device.schedulable && <p className="sentence">{t("workers.notSchedulable")}</p>}
      </td>
      <td className="number">{figure(device.utilization, "%")}</td>
      <td className="number">{figure(device.temperature_c, "°C")}</td>
      <td className="number">{figure(device.power_w, "W")}</td>
    </tr>
  );
}
