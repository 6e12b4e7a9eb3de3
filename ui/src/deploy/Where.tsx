// Where replicas may go: wherever they fit, or on devices picked by hand from large targets.

import { useTranslation } from "react-i18next";
import type { Device } from "../api/types";
import { bytes } from "../format";
import { useDevices } from "../platform";
import type { Placement } from "./spec";

interface Props {
  placement: Placement;
  onChange: (placement: Placement) => void;
}

export function Where({ placement, onChange }: Props) {
  const { t } = useTranslation();
  const devices = (useDevices().data?.items ?? []).filter(({ kind }) => kind !== "cpu");
  const picked = placement.devices;
  const toggle = (name: string) => {
    const held = picked ?? [];
    onChange({
      ...placement,
      devices: held.includes(name) ? held.filter((each) => each !== name) : [...held, name],
    });
  };
  return (
    <fieldset className="group">
      <legend>{t("deploy.where")}</legend>
      <label className="check">
        <input
          type="radio"
          name="where"
          checked={picked === undefined}
          onChange={() => {
            const { devices: _, ...rest } = placement;
            onChange(rest);
          }}
        />
        {t("deploy.anywhere")}
      </label>
      {devices.length > 0 && (
        <label className="check">
          <input
            type="radio"
            name="where"
            checked={picked !== undefined}
            onChange={() => onChange({ ...placement, devices: [] })}
          />
          {t("deploy.picked")}
        </label>
      )}
      {picked !== undefined && (
        <div className="picks">
          {devices.map((device) => (
            <Pick
              key={device.id}
              device={device}
              isPicked={picked.includes(`${device.worker}:${device.index}`)}
              onToggle={toggle}
            />
          ))}
        </div>
      )}
      {picked === undefined && (
        <label className="field">
          {t("deploy.strategy")}
          <select
            value={placement.strategy ?? "spread"}
            onChange={({ currentTarget: { value } }) =>
              onChange({ ...placement, strategy: value as "spread" | "binpack" })
            }
          >
            <option value="spread">{t("deploy.strategies.spread")}</option>
            <option value="binpack">{t("deploy.strategies.binpack")}</option>
          </select>
        </label>
      )}
    </fieldset>
  );
}

interface PickProps {
  device: Device;
  isPicked: boolean;
  onToggle: (name: string) => void;
}

function Pick({ device, isPicked, onToggle }: PickProps) {
  const { t } = useTranslation();
  const name = `${device.worker}:${device.index}`;
  const shown = (count: number | null) => (count === null ? t("common.unknown") : bytes(count));
  return (
    <label className="pick">
      <input type="checkbox" checked={isPicked} onChange={() => onToggle(name)} />
      <span className="mono">{name}</span>
      <span>{device.chip}</span>
      <span className="soft small">
        {t("deploy.inUse", {
          used: shown(device.memory_used_bytes),
          claimed: bytes(device.memory_claimed_bytes),
          total: shown(device.memory_total_bytes),
        })}
      </span>
    </label>
  );
}
