// Speech to text and text to speech.

import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { bytes } from "../format";
import { AskForm } from "./AskForm";
import { type Served, serving } from "./catalogue";
import { type Ask, PATHS } from "./code";
import { moment } from "./FigureStrip";
import { ModelChoice } from "./ModelChoice";
import { TASKS, type Task } from "./search";
import { jsonOf, useAsked } from "./useAsked";
import { usePlayground, Workbench } from "./Workbench";

const LARGEST_BYTES = 100 * 1024 ** 2;
const FORMATS = ["wav", "mp3", "flac", "opus"];

export function AudioMode({ all, task }: { all: Served[]; task: Task }) {
  const { search } = usePlayground();
  const served = serving(all, PATHS[task]);
  const model = search.model ?? served[0]?.id ?? "";
  return task === "speak" ? (
    <Speak served={served} model={model} />
  ) : (
    <Transcribe served={served} model={model} />
  );
}

interface ModeProps {
  served: Served[];
  model: string;
}

function Beside({ served, model }: ModeProps) {
  const { t } = useTranslation();
  const { search, set } = usePlayground();
  return (
    <>
      <label className="field">
        {t("playground.task")}
        <select
          value={search.task ?? "transcribe"}
          onChange={(event) => set({ task: event.currentTarget.value as Task, model: undefined })}
        >
          {TASKS.map((each) => (
            <option key={each} value={each}>
              {t(`playground.tasks.${each}`)}
            </option>
          ))}
        </select>
      </label>
      <ModelChoice
        label={t("playground.model")}
        served={served}
        value={model}
        onPick={(picked) => set({ model: picked })}
      />
    </>
  );
}

function Transcribe({ served, model }: ModeProps) {
  const { t } = useTranslation();
  const [file, setFile] = useState<File | null>(null);
  const [language, setLanguage] = useState("");
  const asked = useAsked<string>();
  const isTooLarge = file !== null && file.size > LARGEST_BYTES;
  const body = { model, ...(language === "" ? {} : { language }) };
  const ask: Ask = { kind: "transcribe", body, file: file?.name ?? "speech.wav" };
  const send = () => {
    const form = new FormData();
    for (const [name, value] of Object.entries(body)) form.append(name, value);
    if (file !== null) form.append("file", file, file.name);
    return asked.ask(PATHS.transcribe, form, async (said) => (await jsonOf<{ text: string }>(said)).text);
  };
  return (
    <Workbench ask={ask} beside={<Beside served={served} model={model} />}>
      <AskForm
        asked={asked}
        verb={t("playground.transcribe")}
        model={model}
        isReady={file !== null && !isTooLarge && model !== ""}
        onSend={() => void send()}
      >
        <label className="field">
          {t("playground.file")}
          <input
            type="file"
            accept="audio/*"
            aria-describedby="file-help"
            onChange={(event) => setFile(event.currentTarget.files?.[0] ?? null)}
          />
          <span id="file-help" className={isTooLarge ? "trouble" : undefined}>
            {t(isTooLarge ? "playground.fileTooLarge" : "playground.fileHelp", {
              size: bytes(LARGEST_BYTES),
              name: file?.name ?? "",
            })}
          </span>
        </label>
        <label className="field">
          {t("playground.language")}
          <input
            value={language}
            aria-describedby="language-help"
            onChange={(event) => setLanguage(event.currentTarget.value.trim())}
          />
          <span id="language-help">{t("playground.languageHelp")}</span>
        </label>
      </AskForm>
      {asked.answer !== null && (
        <section>
          <h2>{t("playground.transcript")}</h2>
          <p className="card raw transcript">{asked.answer}</p>
          <Took seconds={asked.seconds} />
        </section>
      )}
    </Workbench>
  );
}

function Speak({ served, model }: ModeProps) {
  const { t } = useTranslation();
  const [input, setInput] = useState("Hello! 你好！");
  const [voice, setVoice] = useState("default");
  const [format, setFormat] = useState("wav");
  const asked = useAsked<string>();
  const body = { model, input, voice, response_format: format };
  const ask: Ask = { kind: "speak", body };
  const sound = asked.answer;
  useEffect(() => () => (sound === null ? undefined : URL.revokeObjectURL(sound)), [sound]);
  const send = () => asked.ask(PATHS.speak, body, async (said) => URL.createObjectURL(said));
  return (
    <Workbench ask={ask} beside={<Beside served={served} model={model} />}>
      <AskForm
        asked={asked}
        verb={t("playground.speak")}
        model={model}
        isReady={input.trim() !== "" && voice !== "" && model !== ""}
        onSend={() => void send()}
      >
        <label className="field">
          {t("playground.speech")}
          <textarea rows={3} value={input} onChange={(event) => setInput(event.currentTarget.value)} />
        </label>
        <div className="fields">
          <label className="field">
            {t("playground.voice")}
            <input value={voice} onChange={(event) => setVoice(event.currentTarget.value)} />
          </label>
          <label className="field">
            {t("playground.format")}
            <select value={format} onChange={(event) => setFormat(event.currentTarget.value)}>
              {FORMATS.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
        </div>
      </AskForm>
      {sound !== null && (
        <section>
          <h2>{t("playground.spoken")}</h2>
          {/* biome-ignore lint/a11y/useMediaCaption: it says the text that stands above it */}
          <audio controls src={sound} aria-label={t("playground.spoken")} />
          <Took seconds={asked.seconds} />
        </section>
      )}
    </Workbench>
  );
}

function Took({ seconds }: { seconds: number | null }) {
  const { t } = useTranslation();
  return seconds === null ? null : (
    <p className="sentence">{t("playground.took", { seconds: moment(seconds) })}</p>
  );
}
