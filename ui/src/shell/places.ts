// Where the navigation leads, in its order, and the words that name it.

export const PLACES = [
  { to: "/models", words: "nav.models" },
  { to: "/workers", words: "nav.workers" },
  { to: "/files", words: "nav.files" },
  { to: "/backends", words: "nav.backends" },
] as const;
