// What differs between two texts, line by line; pure.

export interface DiffLine {
  kind: "same" | "gone" | "new";
  text: string;
}

type ShownLine = DiffLine | { kind: "skipped"; text: string };

const CONTEXT = 3;

/** What differs with the lines around it; `skipped` stands for those between. */
export function shortened(lines: DiffLine[]): ShownLine[] {
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(isChange));
  return lines.flatMap<ShownLine>((line, at) => {
    if (near[at]) return [line];
    return at === 0 || near[at - 1] ? [{ kind: "skipped", text: "…" }] : [];
  });
}

function isChange({ kind }: DiffLine): boolean {
  return kind !== "same";
}

/** By the longest common run of lines; configurations are short. */
export function diffOf(before: string, after: string): DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  const common = lengths(a, b);
  const told: DiffLine[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      told.push({ kind: "same", text: a[i] ?? "" });
      i += 1;
      j += 1;
    } else if (i < a.length && (j >= b.length || (common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0))) {
      told.push({ kind: "gone", text: a[i] ?? "" });
      i += 1;
    } else {
      told.push({ kind: "new", text: b[j] ?? "" });
      j += 1;
    }
  }
  return told;
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}

function lengths(a: string[], b: string[]): number[][] {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    const [row, below] = [table[i] ?? [], table[i + 1] ?? []];
    for (let j = b.length - 1; j >= 0; j -= 1) {
      row[j] = a[i] === b[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return table;
}
