// Before something is taken away: what will break, in words, and a button that says what it does.

import { useTranslation } from "react-i18next";
import { Dialog } from "./Dialog";
import { Refused } from "./Refused";
import { useAct } from "./useAct";

interface Props {
  title: string;
  consequences: string[];
  verb: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

/** Open as long as it is mounted; a refusal of the server stays in it as its sentence. */
export function Confirm({ title, consequences, verb, onConfirm, onClose }: Props) {
  const { t } = useTranslation();
  const { act, isBusy, error } = useAct();
  const confirm = async () => {
    if (await act(onConfirm)) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <ul className="consequences">
        {consequences.map((each) => (
          <li key={each}>{each}</li>
        ))}
      </ul>
      <Refused error={error} />
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          {t("common.cancel")}
        </button>
        <button type="button" className="button is-bad" disabled={isBusy} onClick={() => void confirm()}>
          {verb}
        </button>
      </div>
    </Dialog>
  );
}
