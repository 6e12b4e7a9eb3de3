// The frame of every mode: the code that does the same, the work, and beside it what it is done with.

import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { platformAddress } from "../base";
import { Command } from "../parts/Command";
import { type Ask, codeOf } from "./code";
import { type PlaygroundSearch, TONGUES, withoutHoles } from "./search";

type Change = { [K in keyof PlaygroundSearch]?: PlaygroundSearch[K] | undefined };

/** What the address says, and a way to change it; what becomes undefined leaves the address. */
export function usePlayground(): { search: PlaygroundSearch; set: (change: Change) => void } {
  const search: PlaygroundSearch = useSearch({ from: "/playground" });
  const navigate = useNavigate({ from: "/playground" });
  const set = (change: Change) =>
    void navigate({
      search: (held: PlaygroundSearch) => withoutHoles<PlaygroundSearch>({ ...held, ...change }),
      replace: true,
    });
  return { search, set };
}

interface Props {
  ask: Ask;
  beside: ReactNode;
  children: ReactNode;
}

export function Workbench({ ask, beside, children }: Props) {
  const { search } = usePlayground();
  return (
    <>
      {search.code !== undefined && <Code ask={ask} />}
      <div className="bench">
        <div className="work">{children}</div>
        <div className="stack">{beside}</div>
      </div>
    </>
  );
}

export function Code({ ask }: { ask: Ask }) {
  const { t } = useTranslation();
  const { search, set } = usePlayground();
  const tongue = search.code ?? "curl";
  return (
    <section className="code-view" id="code" aria-label={t("playground.code")}>
      <div className="tabs" role="tablist" aria-label={t("playground.code")}>
        {TONGUES.map((each) => (
          <button
            key={each}
            type="button"
            role="tab"
            aria-selected={each === tongue}
            onClick={() => set({ code: each })}
          >
            {t(`playground.tongues.${each}`)}
          </button>
        ))}
      </div>
      <Command label={t(`playground.tongues.${tongue}`)} text={codeOf(tongue, ask, platformAddress())} />
      <p className="sentence">{t("playground.codeText")}</p>
    </section>
  );
}

export function CodeButton() {
  const { t } = useTranslation();
  const { search, set } = usePlayground();
  const isOpen = search.code !== undefined;
  return (
    <button
      type="button"
      className="button push"
      aria-expanded={isOpen}
      onClick={() => set({ code: isOpen ? undefined : "curl" })}
    >
      <svg viewBox="0 0 16 16" width="15" height="15" aria-hidden="true">
        <path d="m5.5 4-4 4 4 4m5-8 4 4-4 4" fill="none" stroke="currentColor" strokeWidth="1.6" />
      </svg>
      {t(isOpen ? "playground.codeHide" : "playground.code")}
    </button>
  );
}
