// Two dimensions out of many: principal components of a few vectors, by power iteration on their Gram matrix. Pure.

export type Point = [x: number, y: number];

const ROUNDS = 200;
const NOTHING = 1e-12;

/** One point per vector, in [-1, 1], the longer spread along x. The same vectors always give the same points. */
export function mapOf(vectors: number[][]): Point[] {
  const centred = around(vectors);
  const gram = centred.map((one) => centred.map((other) => dot(one, other)));
  const first = strongest(gram);
  const second = strongest(without(gram, first));
  const reach = Math.max(...first.scores.map(Math.abs), ...second.scores.map(Math.abs), NOTHING);
  return vectors.map((_, at) => [(first.scores[at] ?? 0) / reach, (second.scores[at] ?? 0) / reach]);
}

/** In [-1, 1]; 0 where one of them is nothing. */
export function cosine(one: number[], other: number[]): number {
  const lengths = Math.sqrt(dot(one, one) * dot(other, other));
  return lengths === 0 ? 0 : dot(one, other) / lengths;
}

/** Of each vector the one that is most like it, and how much; null where there is no other. */
export function nearest(vectors: number[][]): ({ at: number; cosine: number } | null)[] {
  return vectors.map((one, here) =>
    vectors
      .map((other, at) => ({ at, cosine: at === here ? Number.NEGATIVE_INFINITY : cosine(one, other) }))
      .reduce<{ at: number; cosine: number } | null>(
        (best, each) => (each.at !== here && (best === null || each.cosine > best.cosine) ? each : best),
        null,
      ),
  );
}

interface Axis {
  value: number;
  direction: number[];
  scores: number[];
}

/** The strongest eigenvector of a symmetric matrix that is nowhere negative; its largest entry is positive. */
function strongest(matrix: number[][]): Axis {
  let direction = unit(matrix.map((_, at) => irregular(at)));
  for (let round = 0; round < ROUNDS; round += 1) direction = unit(times(matrix, direction));
  const value = dot(direction, times(matrix, direction));
  if (value < NOTHING) return { value: 0, direction, scores: direction.map(() => 0) };
  const largest = direction.reduce((best, each) => (Math.abs(each) > Math.abs(best) + 1e-9 ? each : best), 0);
  const signed = largest < 0 ? direction.map((each) => -each) : direction;
  return { value, direction: signed, scores: signed.map((each) => each * Math.sqrt(value)) };
}

/** To begin with: a direction that no regular arrangement of points is at right angles to. */
function irregular(at: number): number {
  return 1 + Math.sin(12.9898 * at + 0.7) / 2;
}

function without(matrix: number[][], { value, direction }: Axis): number[][] {
  return matrix.map((row, at) =>
    row.map((each, to) => each - value * (direction[at] ?? 0) * (direction[to] ?? 0)),
  );
}

function around(vectors: number[][]): number[][] {
  const middle = (vectors[0] ?? []).map(
    (_, at) => vectors.reduce((sum, vector) => sum + (vector[at] ?? 0), 0) / vectors.length,
  );
  return vectors.map((vector) => vector.map((value, at) => value - (middle[at] ?? 0)));
}

function times(matrix: number[][], vector: number[]): number[] {
  return matrix.map((row) => dot(row, vector));
}

function dot(one: number[], other: number[]): number {
  return one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
}

function unit(vector: number[]): number[] {
  const length = Math.sqrt(dot(vector, vector));
  return length < NOTHING ? vector : vector.map((value) => value / length);
}
