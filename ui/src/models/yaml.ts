// Configurations as YAML, written and read: blocks of maps and lists, and values as JSON or plain words. Pure.
//
// What is beyond (anchors, tags, texts over several lines) is refused with its line, not guessed.

export type Yaml = null | boolean | number | string | Yaml[] | { [key: string]: Yaml };

// --- written

const PLAIN = /^[A-Za-z_/.][\w./@+-]*( [\w./@+-]+)*$/;
const READ_OTHERWISE = /^(true|false|null|yes|no|on|off|y|n|~|\.nan|\.inf)$/i;

export function yamlOf(value: Yaml): string {
  return `${lines(value, 0).join("\n")}\n`;
}

function lines(value: Yaml, depth: number): string[] {
  const pad = "  ".repeat(depth);
  if (Array.isArray(value) && value.length > 0) return value.map((each) => `${pad}- ${inline(each)}`);
  if (!isMap(value) || Object.keys(value).length === 0) return [pad + inline(value)];
  return Object.entries(value).flatMap(([key, each]) => {
    const isBlock = isMap(each)
      ? Object.keys(each).length > 0
      : Array.isArray(each) && each.length > 0 && each.every((one) => typeof one !== "object");
    return isBlock
      ? [`${pad}${word(key)}:`, ...lines(each, depth + 1)]
      : [`${pad}${word(key)}: ${inline(each)}`];
  });
}

function inline(value: Yaml): string {
  return typeof value === "string" ? word(value) : JSON.stringify(value);
}

function word(text: string): string {
  return PLAIN.test(text) && !READ_OTHERWISE.test(text) ? text : JSON.stringify(text);
}

function isMap(value: Yaml): value is { [key: string]: Yaml } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// --- read

/** `line` counts from 1. */
export class YamlError extends Error {
  constructor(readonly line: number) {
    super(`line ${line}`);
  }
}

interface Line {
  at: number;
  depth: number;
  text: string;
}

/** Throws YamlError at the first line that is not understood. */
export function parsed(text: string): Yaml {
  const rows = text.split("\n").map((raw, index) => lineOf(raw, index + 1));
  const kept = rows.filter(({ text: said }) => said !== "");
  const first = kept[0];
  if (first === undefined) return null;
  const reading = { rows: kept, next: 0 };
  const value = block(reading, first.depth);
  const left = reading.rows[reading.next];
  if (left !== undefined) throw new YamlError(left.at);
  return value;
}

function lineOf(raw: string, at: number): Line {
  const text = withoutRemark(raw).trimEnd();
  const depth = text.length - text.trimStart().length;
  if (text.slice(0, depth).includes("\t")) throw new YamlError(at);
  return { at, depth, text: text.trimStart() };
}

/** A # begins a remark at the beginning and after a space, not within quotes. */
function withoutRemark(raw: string): string {
  let quote = "";
  for (let at = 0; at < raw.length; at += 1) {
    const sign = raw[at] ?? "";
    if (quote === '"' && sign === "\\") at += 1;
    else if (quote !== "") quote = sign === quote ? "" : quote;
    else if ((sign === '"' || sign === "'") && /(^|[\s[{,:])$/.test(raw.slice(0, at))) quote = sign;
    else if (sign === "#" && (at === 0 || /\s/.test(raw[at - 1] ?? ""))) return raw.slice(0, at);
  }
  return raw;
}

interface Reading {
  rows: Line[];
  next: number;
}

function block(reading: Reading, depth: number): Yaml {
  const first = reading.rows[reading.next];
  if (first === undefined) return null;
  if (first.text === "-" || first.text.startsWith("- ")) return list(reading, depth);
  if (keyOf(first) !== null) return map(reading, depth);
  reading.next += 1;
  return scalar(first.text, first.at);
}

function list(reading: Reading, depth: number): Yaml[] {
  const made: Yaml[] = [];
  for (let row = reading.rows[reading.next]; row?.depth === depth; row = reading.rows[reading.next]) {
    if (row.text !== "-" && !row.text.startsWith("- ")) break;
    const rest = row.text.slice(1).trimStart();
    if (rest === "") {
      reading.next += 1;
      made.push(below(reading, depth));
    } else {
      // "- a: 1" begins a map that stands where its first key does
      const inner = depth + row.text.length - rest.length;
      reading.rows[reading.next] = { at: row.at, depth: inner, text: rest };
      made.push(block(reading, inner));
    }
  }
  return made;
}

function map(reading: Reading, depth: number): { [key: string]: Yaml } {
  const made: { [key: string]: Yaml } = {};
  for (let row = reading.rows[reading.next]; row?.depth === depth; row = reading.rows[reading.next]) {
    const found = keyOf(row);
    if (found === null || Object.hasOwn(made, found.key)) throw new YamlError(row.at);
    reading.next += 1;
    made[found.key] = found.rest === "" ? below(reading, depth, true) : scalar(found.rest, row.at);
  }
  return made;
}

/** What stands deeper; of a map also a list that is not indented, as many write it. */
function below(reading: Reading, depth: number, mayBeFlush = false): Yaml {
  const next = reading.rows[reading.next];
  if (next === undefined) return null;
  if (next.depth > depth) return block(reading, next.depth);
  const isFlush = mayBeFlush && next.depth === depth && /^-( |$)/.test(next.text);
  return isFlush ? list(reading, depth) : null;
}

const KEY =
  /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'[\]{},#&*!|>%@`-][^:#]*?|-[^\s:][^:]*?)\s*:(?:\s+(.*))?$/;

function keyOf({ text, at }: Line): { key: string; rest: string } | null {
  const found = KEY.exec(text);
  if (found === null) return null;
  return { key: String(scalar(found[1] ?? "", at, true)), rest: found[2] ?? "" };
}

function scalar(text: string, at: number, isKey = false): Yaml {
  if (/^["[{]/.test(text)) return json(text, at);
  if (text.startsWith("'")) {
    if (!/^'(?:[^']|'')*'$/.test(text)) throw new YamlError(at);
    return text.slice(1, -1).replaceAll("''", "'");
  }
  if (/^[&*!|>%@`]/.test(text) || / #|: |:$/.test(text)) throw new YamlError(at);
  if (isKey) return text;
  if (/^(null|~)$/i.test(text)) return null;
  if (/^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  return /^[-+]?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(text) ? Number(text) : text;
}

function json(text: string, at: number): Yaml {
  try {
    return JSON.parse(text) as Yaml;
  } catch (failure) {
    if (!(failure instanceof SyntaxError)) throw failure;
    throw new YamlError(at);
  }
}

/** Where a field such as `options.tp` stands, from 1; null where it does not. */
export function placeOf(text: string, field: string): number | null {
  const rows = text.split("\n");
  let from = 0;
  for (const name of field.split(".")) {
    const at = rows.findIndex(
      (row, index) => index >= from && row.trimStart().replaceAll('"', "").startsWith(`${name}:`),
    );
    if (at < 0) return from === 0 ? null : from;
    from = at + 1;
  }
  return from;
}
