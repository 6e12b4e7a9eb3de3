// The page around the two forms that stand before the console.

import type { ReactNode } from "react";
import { LanguageSwitch } from "../shell/LanguageSwitch";
import { Wordmark } from "../shell/Wordmark";

export function Door({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="door">
      <div className="top">
        <LanguageSwitch />
      </div>
      <main>
        <div className="wordmark">
          <Wordmark />
        </div>
        <h1>{title}</h1>
        {children}
      </main>
    </div>
  );
}
