// Numbers as people read them. Binary units, as engines and npu-smi count.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

export function bytes(count: number): string {
  const power = count < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(count) / 10));
  const value = count / 1024 ** power;
  const digits = power === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits).replace(/\.0$/, "")} ${UNITS[power]}`;
}

/** 0.42 -> "0.4 s", 75 -> "1 min 15 s" */
export function seconds(count: number): string {
  if (count < 9.95) return `${count.toFixed(1)} s`;
  const whole = Math.round(count);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function dateTime(moment: string, language: string): string {
  return new Intl.DateTimeFormat(language, {
    dateStyle: "short",
    timeStyle: "short",
    hourCycle: "h23",
  }).format(new Date(moment));
}

export function clockTime(moment: string | number, language: string): string {
  return new Intl.DateTimeFormat(language, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  }).format(new Date(moment));
}

/** A number with its thousands apart. */
export function count(value: number): string {
  return new Intl.NumberFormat("en", { maximumFractionDigits: 1 }).format(value).replaceAll(",", " ");
}
