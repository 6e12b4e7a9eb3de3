// One more version of an engine: by its recipe, at a path that is there, or as an image.

import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Backend } from "../api/types";
import { Dialog } from "../parts/Dialog";
import { Refused } from "../parts/Refused";
import { useAct } from "../parts/useAct";
import { usePlatform } from "../platform";

export function Install({ backend, onClose }: { backend: Backend; onClose: () => void }) {
  const { t } = useTranslation();
  const { api, queries } = usePlatform();
  const { act, isBusy, error } = useAct();
  const [given, setGiven] = useState({
    version: "",
    device_kind: backend.device_kinds[0] ?? "cpu",
    path: "",
    image: "",
    default: false,
  });
  const set = (name: keyof typeof given) => (event: { currentTarget: { value: string } }) =>
    setGiven({ ...given, [name]: event.currentTarget.value });
  const send = async () => {
    const { path, image, ...rest } = given;
    const body = { ...rest, backend: backend.name, path: path.trim() || null, image: image.trim() || null };
    const isDone = await act(async () => {
      await api.post("/api/v1/backends/versions", body);
      await queries.invalidateQueries({ queryKey: ["builds"] });
    });
    if (isDone) onClose();
  };
  return (
    <Dialog title={t("engines.installTitle", { engine: backend.name })} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label className="field">
          {t("engines.version")}
          <input required value={given.version} onChange={set("version")} aria-describedby="engine-version" />
          <span id="engine-version">{t("engines.versionHelp")}</span>
        </label>
        <label className="field">
          {t("engines.hardware")}
          <select value={given.device_kind} onChange={set("device_kind")}>
            {backend.device_kinds.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        </label>
        <label className="field">
          {t("engines.path")}
          <input value={given.path} onChange={set("path")} aria-describedby="engine-path" />
          <span id="engine-path">{t("engines.pathHelp")}</span>
        </label>
        <label className="field">
          {t("engines.image")}
          <input value={given.image} onChange={set("image")} aria-describedby="engine-image" />
          <span id="engine-image">{t("engines.imageHelp")}</span>
        </label>
        <label className="check">
          <input
            type="checkbox"
            checked={given.default}
            onChange={(event) => setGiven({ ...given, default: event.currentTarget.checked })}
          />
          {t("engines.makeDefault")}
        </label>
        <Refused error={error} />
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            {t("common.cancel")}
          </button>
          <button type="submit" className="button is-main" disabled={isBusy}>
            {t("engines.start")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
