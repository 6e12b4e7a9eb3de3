// The deployment from a program: address, name, and the same request in three languages, ready to paste.

import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { platformAddress } from "../base";
import { Command } from "../parts/Command";
import { codeOf } from "../playground/code";

const TONGUES = ["curl", "python", "javascript"] as const;
type Tongue = (typeof TONGUES)[number];

export function UseIt({ model }: { model: string }) {
  const { t } = useTranslation();
  const [tongue, setTongue] = useState<Tongue>("curl");
  const address = platformAddress();
  return (
    <section className="stack">
      <h2>{t("model.useTitle")}</h2>
      <p className="sentence">{t("model.useText")}</p>
      <dl className="use-facts">
        <dt>{t("deployments.baseUrl")}</dt>
        <dd>
          <Command label={t("deployments.baseUrl")} text={`${address}/v1`} />
        </dd>
        <dt>{t("deployments.modelName")}</dt>
        <dd>
          <Command label={t("deployments.modelName")} text={model} />
        </dd>
      </dl>
      <fieldset className="tongues">
        <legend className="hidden">{t("deployments.language")}</legend>
        {TONGUES.map((each) => (
          <button
            key={each}
            type="button"
            className="quiet-button"
            aria-pressed={each === tongue}
            onClick={() => setTongue(each)}
          >
            {{ curl: "curl", python: "Python", javascript: "JavaScript" }[each]}
          </button>
        ))}
      </fieldset>
      <Command label={t("model.useTitle")} text={programFor(tongue, model, address)} />
      <p className="sentence">
        {t("model.useKey")} <Link to="/access">{t("nav.access")}</Link> ·{" "}
        <code>gpustack-lite keys create NAME</code>
      </p>
    </section>
  );
}

export function programFor(tongue: Tongue, model: string, address: string): string {
  const body = { model, messages: [{ role: "user", content: "Hello!" }], stream: true };
  return codeOf(tongue, { kind: "chat", body }, address);
}
