import { useTranslation } from "react-i18next";
import { platformAddress } from "../base";
import { Command } from "../parts/Command";

export function UseIt({ model }: { model: string }) {
  const { t } = useTranslation();
  return (
    <section>
      <h2>{t("model.useTitle")}</h2>
      <Command label={t("model.useTitle")} text={curlFor(model, platformAddress())} />
      <p className="sentence">
        {t("model.useText")} {t("model.useKey")} <code>gpustack-lite keys create NAME</code>
      </p>
    </section>
  );
}

export function curlFor(model: string, origin: string): string {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello!" }], stream: true });
  return [
    `curl -N ${origin}/v1/chat/completions \\`,
    '  -H "Authorization: Bearer $GPUSTACK_LITE_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d ${shellQuoted(body)}`,
  ].join("\n");
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
