// What lies on the disks of workers, how it is coming, and who needs it.

import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { ModelFiles, Worker } from "../api/types";
import { bytes, seconds } from "../format";
import { Command } from "../parts/Command";
import { Confirm } from "../parts/Confirm";
import { Dialog } from "../parts/Dialog";
import { Loaded } from "../parts/Loaded";
import { ProgressBar } from "../parts/ProgressBar";
import { Refused } from "../parts/Refused";
import { Mark } from "../parts/StateMark";
import { useAct } from "../parts/useAct";
import { useQuestion } from "../parts/useQuestion";
import { useFiles, useMe, usePlatform, useWorkers } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { canPause, canResume, type FilesState, inOrder, LOOKS, patterns, progressOf } from "./download";

export function FilesPage() {
  const { t } = useTranslation();
  const files = useFiles();
  const workers = useWorkers();
  const me = useMe();
  const [isAdding, setAdding] = useState(false);
  usePageTitle(t("files.title"));
  const isAdmin = me.data?.role === "admin";
  return (
    <Loaded query={files}>
      {({ items }) => (
        <>
          <div className="page-head">
            <h1>{t("files.title")}</h1>
            <span className="soft">{t("files.count", { count: items.length })}</span>
            {isAdmin && (
              <button type="button" className="button is-main push" onClick={() => setAdding(true)}>
                {t("files.add")}
              </button>
            )}
          </div>
          <p className="sentence">{t("files.intro")}</p>
          <Disks workers={workers.data?.items ?? []} />
          {items.length === 0 ? <NoFiles /> : <FilesTable rows={inOrder(items)} isAdmin={isAdmin} />}
          {isAdding && <Add workers={workers.data?.items ?? []} onClose={() => setAdding(false)} />}
        </>
      )}
    </Loaded>
  );
}

function Disks({ workers }: { workers: Worker[] }) {
  const { t } = useTranslation();
  const known = workers.filter(({ disk_free_bytes: free }) => free !== null);
  if (known.length === 0) return null;
  return (
    <dl className="facts">
      {known.map(({ name, disk_free_bytes: free }) => (
        <div key={name}>
          <dt>
            {t("files.disk")} {name}
          </dt>
          <dd>{bytes(free ?? 0)}</dd>
        </div>
      ))}
    </dl>
  );
}

function NoFiles() {
  const { t } = useTranslation();
  return (
    <section className="empty">
      <h2>{t("files.emptyTitle")}</h2>
      <p>{t("files.emptyText")}</p>
      <Command
        label={t("files.emptyTitle")}
        text="gpustack-lite files add huggingface:Qwen/Qwen2.5-0.5B-Instruct-GGUF --include '*q4_k_m*'"
      />
    </section>
  );
}

function FilesTable({ rows, isAdmin }: { rows: ModelFiles[]; isAdmin: boolean }) {
  const { t } = useTranslation();
  return (
    <section className="card scroll" aria-label={t("files.title")}>
      <table>
        <thead>
          <tr>
            <th>{t("files.file")}</th>
            <th>{t("files.state")}</th>
            <th className="number">{t("files.size")}</th>
            <th>{t("files.usedBy")}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {rows.map((files) => (
            <FilesRow key={files.id} files={files} isAdmin={isAdmin} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function FilesRow({ files, isAdmin }: { files: ModelFiles; isAdmin: boolean }) {
  const { t } = useTranslation();
  const state = files.state as FilesState;
  const progress = progressOf(files);
  return (
    <tr data-source={files.source} data-state={files.state}>
      <td>
        <div className="name">{files.source}</div>
        <div className="soft small mono">
          {[files.worker, files.commit?.slice(0, 10) ?? files.revision, ...files.include]
            .filter(Boolean)
            .join(" · ")}
        </div>
      </td>
      <td>
        <Mark look={LOOKS[state]} word={t(`files.states.${state}`)} />
        {files.state_message && <p className="sentence">{files.state_message}</p>}
        {progress && <ProgressBar progress={progress} />}
        <Pace files={files} />
      </td>
      <td className="number">{files.size_bytes === null ? t("common.none") : bytes(files.size_bytes)}</td>
      <td>
        {files.instances.length === 0 && <span className="soft">{t("files.nobody")}</span>}
        {files.instances.map(({ id, model }) => (
          <div key={id}>
            <Link to="/models/$" params={{ _splat: model }}>
              {model}
            </Link>
          </div>
        ))}
      </td>
      <td>{isAdmin && <Acts files={files} />}</td>
    </tr>
  );
}

function Pace({ files: { bytes_per_second: rate, eta_seconds: eta } }: { files: ModelFiles }) {
  const { t } = useTranslation();
  const told = [
    rate === null ? "" : t("files.rate", { rate: bytes(rate) }),
    eta === null ? "" : t("files.eta", { time: seconds(eta) }),
  ].filter(Boolean);
  return told.length === 0 ? null : <p className="sentence">{told.join(" · ")}</p>;
}

function Acts({ files }: { files: ModelFiles }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const { act, isBusy, error } = useAct();
  const [question, ask, close] = useQuestion<ModelFiles>();
  const path = `/api/v1/files/${files.id}`;
  const verb = canPause(files.state) ? "pause" : canResume(files.state) ? "resume" : null;
  const names = [...new Set(files.instances.map(({ model }) => model))].join(", ");
  return (
    <>
      {verb !== null && (
        <button
          type="button"
          className="quiet-button"
          disabled={isBusy}
          onClick={() => void act(() => api.post(`${path}/${verb}`))}
        >
          {t(`files.${verb}`)}
          <span className="hidden"> {files.source}</span>
        </button>
      )}
      <button type="button" className="quiet-button" onClick={() => ask(files)}>
        {t("files.remove")}
        <span className="hidden"> {files.source}</span>
      </button>
      <Refused error={error} />
      {question !== null && (
        <Confirm
          title={t("files.removeTitle", { source: files.source })}
          consequences={[
            ...(names === "" ? [] : [t("files.removeUsed", { names })]),
            t("files.removeFrees", { size: bytes(files.done_bytes ?? 0), worker: files.worker ?? "" }),
          ]}
          verb={t("files.remove")}
          onConfirm={() => api.delete(path)}
          onClose={close}
        />
      )}
    </>
  );
}

function Add({ workers, onClose }: { workers: Worker[]; onClose: () => void }) {
  const { t } = useTranslation();
  const { api } = usePlatform();
  const { act, isBusy, error } = useAct();
  const [given, setGiven] = useState({
    source: "",
    revision: "",
    include: "",
    worker: workers[0]?.name ?? "",
  });
  const set = (name: keyof typeof given) => (event: { currentTarget: { value: string } }) =>
    setGiven({ ...given, [name]: event.currentTarget.value });
  const send = async () => {
    const body = {
      source: given.source.trim(),
      revision: given.revision.trim() || null,
      include: patterns(given.include),
      worker: given.worker || null,
    };
    if (await act(() => api.post("/api/v1/files", body))) onClose();
  };
  return (
    <Dialog title={t("files.add")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label className="field">
          {t("files.source")}
          <input required value={given.source} onChange={set("source")} aria-describedby="files-source" />
          <span id="files-source">{t("files.sourceHelp")}</span>
        </label>
        <label className="field">
          {t("files.worker")}
          <select value={given.worker} onChange={set("worker")}>
            {workers.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label className="field">
          {t("files.include")}
          <input value={given.include} onChange={set("include")} aria-describedby="files-include" />
          <span id="files-include">{t("files.includeHelp")}</span>
        </label>
        <label className="field">
          {t("files.revision")}
          <input value={given.revision} onChange={set("revision")} aria-describedby="files-revision" />
          <span id="files-revision">{t("files.revisionHelp")}</span>
        </label>
        <Refused error={error} />
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            {t("common.cancel")}
          </button>
          <button type="submit" className="button is-main" disabled={isBusy}>
            {t("files.fetch")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
