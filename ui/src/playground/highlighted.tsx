// Code in colours, as elements: highlight.js would give a string of HTML, which nothing here puts into a page.

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import type { ReactNode } from "react";

const LANGUAGES = { bash, cpp, css, go, java, javascript, json, python, rust, sql, typescript, xml, yaml };
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** Longer code is not coloured: it would be parsed anew with each token that arrives. */
const LONGEST = 20_000;

interface Branch {
  scope?: string;
  children: (Branch | string)[];
}

export function highlighted(text: string, language: string | undefined): ReactNode {
  if (language === undefined || text.length > LONGEST || hljs.getLanguage(language) === undefined)
    return text;
  const { _emitter: emitter } = hljs.highlight(text, { language, ignoreIllegals: true });
  return (emitter as unknown as { rootNode: Branch }).rootNode.children.map(drawn);
}

function drawn(piece: Branch | string, at: number): ReactNode {
  if (typeof piece === "string") return piece;
  const scope = piece.scope?.split(".")[0] ?? "plain";
  return (
    <span key={at} className={`code-${scope}`}>
      {piece.children.map(drawn)}
    </span>
  );
}
