import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Device } from "../api/types";
import { bytes } from "../format";
import { Meter } from "../parts/Meter";
import { Simulated } from "../parts/Simulated";
import { HealthMark } from "../parts/StateMark";
import { troubleOf } from "./fleet";

interface Props {
  devices: Device[];
  /** What can be done with one, at the end of its row. */
  acts?: (device: Device) => ReactNode;
}

export function DeviceTable({ devices, acts }: Props) {
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
            {acts && <td />}
          </tr>
        </thead>
        <tbody>
          {devices.map((device) => (
            <DeviceRow key={device.id} device={device} acts={acts?.(device)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function DeviceRow({ device, acts }: { device: Device; acts: ReactNode }) {
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
        <Trouble device={device} />
      </td>
      <td className="number">{figure(device.utilization, "%")}</td>
      <td className="number">{figure(device.temperature_c, "°C")}</td>
      <td className="number">{figure(device.power_w, "W")}</td>
      {acts !== undefined && <td className="number">{acts}</td>}
    </tr>
  );
}

/** Why nothing new is placed there, in as many words as are known. */
function Trouble({ device }: { device: Device }) {
  const { t } = useTranslation();
  const trouble = troubleOf(device);
  const codes = device.error_codes.join(", ");
  const by = device.cordoned_by === null ? "" : ` ${t("fleet.cordonedBy", { who: device.cordoned_by })}`;
  const told = [
    trouble === null ? "" : `${t(`fleet.trouble.${trouble}`)}${trouble === "cordoned" ? by : ""}`,
    device.cordon_note ?? "",
    faultOf(device),
    codes === "" ? "" : t("fleet.errorCodes", { codes }),
  ].filter(Boolean);
  return told.map((each) => (
    <p key={each} className="sentence">
      {each}
    </p>
  ));
}

function faultOf({ isolated, fault }: Device): string {
  const told = (isolated ?? fault) as { message?: string } | null;
  return told?.message ?? "";
}
