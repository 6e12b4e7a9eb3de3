// What an administrator allowed and what could run code on a worker: told wherever the model is, in a word and in red.

import { useTranslation } from "react-i18next";
import type { Model } from "../api/types";
import { ShapeIcon } from "../parts/StateMark";

type Allowed = Pick<Model, "trust_remote_code" | "trusts_remote_code" | "allow_pickle">;

export function Danger({ model }: { model: Allowed }) {
  const { t } = useTranslation();
  const words = [
    (model.trust_remote_code || model.trusts_remote_code) && "code",
    model.allow_pickle && "pickle",
  ] as const;
  return words.map(
    (word) =>
      word && (
        <span key={word} className="danger" title={t(`deployments.danger.${word}Explain`)}>
          <ShapeIcon shape="warning" tone="bad" />
          {t(`deployments.danger.${word}`)}
        </span>
      ),
  );
}
