// Trying models out: a mode for each thing that they do, and the code that does the same.

import "./playground.css";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { Loaded } from "../parts/Loaded";
import { useMe } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { AudioMode } from "./AudioMode";
import { ChatMode } from "./ChatMode";
import { CompareMode } from "./CompareMode";
import { type Served, serving, useServed } from "./catalogue";
import { type Ask, PATHS } from "./code";
import { EmbeddingsMode } from "./EmbeddingsMode";
import { ImageMode } from "./ImageMode";
import { RerankMode } from "./RerankMode";
import { MODES, type Mode, type PlaygroundSearch } from "./search";
import { CodeButton, usePlayground } from "./Workbench";

export function PlaygroundPage() {
  const { t } = useTranslation();
  const { search, set } = usePlayground();
  const mode = search.mode ?? "chat";
  usePageTitle(t("playground.title"));
  return (
    <>
      <div className="page-head is-tight">
        <h1>{t("playground.title")}</h1>
        <CodeButton />
      </div>
      <div className="tabs modes" role="tablist" aria-label={t("playground.mode")}>
        {MODES.map((each) => (
          <button
            key={each}
            type="button"
            role="tab"
            aria-selected={each === mode}
            onClick={() => set({ mode: each, model: kept(search, mode, each) })}
          >
            {t(`playground.modes.${each}`)}
          </button>
        ))}
      </div>
      <div data-mode={mode}>
        <Work mode={mode} />
      </div>
    </>
  );
}

/** A model that chats is compared, too; what embeds is another one. */
function kept({ model }: PlaygroundSearch, from: Mode, to: Mode): string | undefined {
  const chats = (mode: Mode) => mode === "chat" || mode === "compare";
  return chats(from) && chats(to) ? model : undefined;
}

function kindOf(mode: Mode, search: PlaygroundSearch): Ask["kind"] {
  if (mode === "audio") return search.task ?? "transcribe";
  return mode === "compare" ? "chat" : mode;
}

function Work({ mode }: { mode: Mode }) {
  const { search } = usePlayground();
  const path = PATHS[kindOf(mode, search)];
  return (
    <Loaded query={useServed()}>
      {(all) => {
        const served = serving(all, path);
        if (mode === "audio") return <AudioMode all={all} task={search.task ?? "transcribe"} />;
        if (served.length === 0) return <NothingServes path={path} />;
        return <Chosen mode={mode} served={served} model={search.model ?? served[0]?.id ?? ""} />;
      }}
    </Loaded>
  );
}

function Chosen({ mode, served, model }: { mode: Mode; served: Served[]; model: string }) {
  if (mode === "compare") return <CompareMode served={served} />;
  if (mode === "embeddings") return <EmbeddingsMode served={served} model={model} />;
  if (mode === "rerank") return <RerankMode served={served} model={model} />;
  if (mode === "image") return <ImageMode served={served} model={model} />;
  return <ChatMode served={served} model={model} />;
}

function NothingServes({ path }: { path: string }) {
  const { t } = useTranslation();
  const me = useMe();
  return (
    <section className="empty">
      <h2>{t("playground.noModel")}</h2>
      <p>{t("playground.noModelText", { path })}</p>
      {me.data?.role === "admin" && (
        <p>
          <Link to="/deploy" className="button">
            {t("deploy.open")}
          </Link>
        </p>
      )}
    </section>
  );
}
