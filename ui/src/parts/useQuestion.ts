// Which question stands in front of the page, if any.

import { useState } from "react";

export function useQuestion<T>(): [about: T | null, ask: (about: T) => void, close: () => void] {
  const [about, setAbout] = useState<T | null>(null);
  return [about, setAbout, () => setAbout(null)];
}
