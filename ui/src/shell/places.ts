// Where the navigation leads, in its order, and the words that name it.

export interface Place {
  to: string;
  words: string;
  isForAdmins?: boolean;
}

export const PLACES = [
  { to: "/", words: "nav.overview" },
  { to: "/models", words: "nav.models" },
  { to: "/playground", words: "nav.playground" },
  { to: "/workers", words: "nav.workers" },
  { to: "/files", words: "nav.files" },
  { to: "/backends", words: "nav.backends" },
  { to: "/usage", words: "nav.usage" },
  { to: "/requests", words: "nav.requests" },
  { to: "/access", words: "nav.access" },
  { to: "/audit", words: "nav.audit", isForAdmins: true },
] as const satisfies Place[];
