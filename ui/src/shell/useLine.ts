// Opens the change stream while somebody is signed in, in the reader's language.

import { useEffect, useRef, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { usePlatform } from "../platform";

export function useLine(): void {
  const { line, live, queries } = usePlatform();
  const { i18n } = useTranslation();
  const shown = useRef(i18n.language);
  const { phase } = useSyncExternalStore(live.subscribe, live.getStatus);

  useEffect(() => {
    if (shown.current !== i18n.language) live.relist();
    shown.current = i18n.language;
    line.open(i18n.language);
  }, [line, live, i18n.language]);

  useEffect(() => {
    // the session ended elsewhere: asking who we are brings the sign-in page
    if (phase === "refused") void queries.resetQueries({ queryKey: ["me"] });
  }, [phase, queries]);
}
