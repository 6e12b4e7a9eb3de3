// Where a prompt is written, with pictures beside it.

import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { bytes } from "../format";
import { LARGEST_BYTES, MOST_PICTURES, PictureRefused, pictureOf } from "./pictures";

interface Props {
  verb: string;
  isBusy: boolean;
  isReady: boolean;
  onSend: (text: string, pictures: string[]) => void;
  onStop: () => void;
  /** What is being written, for the code that does the same. */
  onDraft: (text: string, pictures: string[]) => void;
}

export function Composer({ verb, isBusy, isReady, onSend, onStop, onDraft }: Props) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const [pictures, setPictures] = useState<string[]>([]);
  const [trouble, setTrouble] = useState<string | null>(null);
  const draft = (words: string, seen: string[]) => {
    setText(words);
    setPictures(seen);
    onDraft(words, seen);
  };
  const canSend = isReady && !isBusy && (text.trim() !== "" || pictures.length > 0);
  const send = () => {
    if (!canSend) return;
    onSend(text, pictures);
    draft("", []);
  };
  const add = async (files: File[]) => {
    setTrouble(null);
    if (pictures.length + files.length > MOST_PICTURES) {
      setTrouble(t("playground.tooManyPictures", { count: MOST_PICTURES }));
      return;
    }
    try {
      draft(text, [...pictures, ...(await Promise.all(files.map(pictureOf)))]);
    } catch (error) {
      if (!(error instanceof PictureRefused)) throw error;
      setTrouble(t(`playground.${error.why}`, { name: error.file, size: bytes(LARGEST_BYTES) }));
    }
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Thumbnails pictures={pictures} onChange={(rest) => draft(text, rest)} />
      <textarea
        rows={3}
        aria-label={t("playground.prompt")}
        value={text}
        placeholder={t("playground.promptHelp")}
        onChange={(event) => draft(event.currentTarget.value, pictures)}
        onPaste={(event) => {
          const files = [...event.clipboardData.files];
          if (files.length > 0) void add(files);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      {trouble !== null && (
        <p className="sentence trouble" role="alert">
          {trouble}
        </p>
      )}
      <div className="actions">
        <AddPictures onAdd={(files) => void add(files)} />
        {isBusy ? (
          <button type="button" className="button push" onClick={onStop}>
            {t("playground.stop")}
          </button>
        ) : (
          <button type="submit" className="button is-main push" disabled={!canSend}>
            {verb}
          </button>
        )}
      </div>
    </form>
  );
}

function AddPictures({ onAdd }: { onAdd: (files: File[]) => void }) {
  const { t } = useTranslation();
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        accept="image/*"
        multiple
        hidden
        data-testid="pictures"
        onChange={(event) => {
          onAdd([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      <button type="button" className="quiet-button" onClick={() => input.current?.click()}>
        {t("playground.addPictures")}
      </button>
    </>
  );
}

function Thumbnails({ pictures, onChange }: { pictures: string[]; onChange: (rest: string[]) => void }) {
  const { t } = useTranslation();
  if (pictures.length === 0) return null;
  return (
    <ul className="thumbnails">
      {pictures.map((url, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same picture may stand there twice
        <li key={at}>
          <img src={url} alt={t("playground.pictureOf", { number: at + 1 })} />
          <button
            type="button"
            className="quiet-button"
            aria-label={t("playground.removePicture", { number: at + 1 })}
            onClick={() => onChange(pictures.filter((_, other) => other !== at))}
          >
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}
