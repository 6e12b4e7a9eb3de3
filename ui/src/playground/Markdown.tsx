// What a model wrote, as Markdown. It is nobody's page: no HTML of its own, no picture from elsewhere, and a link
// shows where it leads before it can be followed.

import { memo, type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { highlighted } from "./highlighted";

const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,/i;
const ADDRESS = /^(https?|mailto):/i;

export function allowed(url: string): string {
  return PICTURE.test(url) || ADDRESS.test(url) ? url : "";
}

const COMPONENTS: Components = {
  a: ({ href, children }) => <Elsewhere href={href ?? ""}>{children}</Elsewhere>,
  img: ({ src, alt }) => <Picture src={typeof src === "string" ? src : ""} alt={alt ?? ""} />,
  pre: ({ children }) => (
    <Wide>
      <pre>{children}</pre>
    </Wide>
  ),
  code: ({ className, children }) => (
    <code>{highlighted(String(children ?? ""), /language-([\w+#-]+)/.exec(className ?? "")?.[1])}</code>
  ),
  table: ({ children }) => (
    <Wide>
      <table>{children}</table>
    </Wide>
  ),
};

function Markdown({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={[remarkGfm]} urlTransform={allowed} components={COMPONENTS}>
      {text}
    </ReactMarkdown>
  );
}

/** What was said before is not read again for each token that arrives. */
export default memo(Markdown);

/** May be wider than its place, and is then scrolled, by keys as well. */
function Wide({ children }: { children: ReactNode }) {
  return (
    <div className="scroll block" tabIndex={0}>
      {children}
    </div>
  );
}

/** Text until it is clicked; then the whole address, as a link. */
function Elsewhere({ href, children }: { href: string; children: ReactNode }) {
  const { t } = useTranslation();
  const [isShown, setShown] = useState(false);
  if (href === "") return <>{children}</>;
  if (!isShown) {
    return (
      <button
        type="button"
        className="elsewhere"
        title={t("playground.linkShow")}
        onClick={() => setShown(true)}
      >
        {children}
      </button>
    );
  }
  return (
    <>
      {children} (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {href}
      </a>
      )
    </>
  );
}

function Picture({ src, alt }: { src: string; alt: string }) {
  const { t } = useTranslation();
  if (PICTURE.test(src)) return <img src={src} alt={alt} />;
  return <span className="soft">[{alt || t("playground.pictureLeftOut", { address: src })}]</span>;
}
