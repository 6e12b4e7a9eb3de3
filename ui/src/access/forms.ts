// What the forms of access send; pure.

export const SCOPES = ["inference", "read", "manage"] as const;
export const ROLES = ["admin", "user", "viewer"] as const;
export const TABS = ["keys", "users", "groups", "sessions"] as const;
export type Tab = (typeof TABS)[number];

export interface KeyForm {
  name: string;
  scopes: string[];
  models: string;
  expires: string;
  rpm: string;
  tpd: string;
}

export const FRESH_KEY: KeyForm = {
  name: "",
  scopes: ["inference"],
  models: "*",
  expires: "",
  rpm: "",
  tpd: "",
};

export function keyBody(form: KeyForm): Record<string, unknown> {
  const limits = { requests_per_minute: count(form.rpm), tokens_per_day: count(form.tpd) };
  const given = Object.entries(limits).filter(([, value]) => value !== null);
  return {
    name: form.name.trim(),
    scopes: form.scopes,
    models: words(form.models).length > 0 ? words(form.models) : ["*"],
    ...(form.expires === "" ? {} : { expires_at: new Date(form.expires).toISOString() }),
    ...(given.length === 0 ? {} : { limits: Object.fromEntries(given) }),
  };
}

export function words(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

function count(text: string): number | null {
  const value = Number.parseInt(text, 10);
  return Number.isNaN(value) ? null : value;
}

export function tabOf(given: unknown): Tab {
  return TABS.includes(given as Tab) ? (given as Tab) : "keys";
}
