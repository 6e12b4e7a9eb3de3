import { useTranslation } from "react-i18next";
import { bytes } from "../format";
import type { Obstacles } from "./story";

/** The scheduler's verdict, worker by worker, with its numbers and what would change it. */
export function ObstacleList({ obstacles: { reasons, remedies } }: { obstacles: Obstacles }) {
  const { t } = useTranslation();
  const amount = (count: number | null) => (count === null ? t("common.none") : bytes(count));
  return (
    <section>
      <h2>{t("model.whyTitle")}</h2>
      <div className="card scroll">
        <table>
          <thead>
            <tr>
              <th>{t("model.worker")}</th>
              <th>{t("model.reason")}</th>
              <th className="number">{t("model.needed")}</th>
              <th className="number">{t("model.free")}</th>
            </tr>
          </thead>
          <tbody>
            {reasons.map((reason) => (
              <tr key={`${reason.worker} ${reason.code}`}>
                <td className="mono">{reason.worker ?? t("common.none")}</td>
                <td>{reason.message}</td>
                <td className="number">{amount(reason.needed_bytes)}</td>
                <td className="number">{amount(reason.free_bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {remedies.length > 0 && (
        <>
          <p className="remedies-title">{t("model.remedies")}</p>
          <ul className="remedies">
            {remedies.map((remedy) => (
              <li key={remedy.message}>{remedy.message}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
