import { expect, test } from "vitest";
import { cosine, mapOf, nearest } from "./pca";

test("points on a line stay on a line, in their order and proportion", () => {
  const direction = [3, -1, 2, 5];
  const points = mapOf([0, 1, 2, 4].map((step) => direction.map((each) => 7 + each * step)));
  const along = points.map(([x]) => x);
  expect(points.every(([, y]) => Math.abs(y) < 1e-6)).toBe(true);
  const steps = along.slice(1).map((x, at) => x - (along[at] ?? 0));
  expect((steps[2] ?? 0) / (steps[0] ?? 1)).toBeCloseTo(2);
  expect(Math.max(...along.map(Math.abs))).toBeCloseTo(1);
});

test("a rectangle in a plane of many dimensions keeps its shape, the longer side along x", () => {
  const corners = [
    [0, 0, 0, 9],
    [4, 0, 0, 9],
    [4, 0, 2, 9],
    [0, 0, 2, 9],
  ];
  const [a, b, c] = mapOf(corners) as [[number, number], [number, number], [number, number]];
  const far = (one: [number, number], other: [number, number]) =>
    Math.hypot(one[0] - other[0], one[1] - other[1]);
  expect(far(a, b) / far(b, c)).toBeCloseTo(2);
  expect(Math.abs(a[0] - b[0])).toBeCloseTo(far(a, b));
});

test("the same texts always lie at the same place", () => {
  const vectors = [
    [1, 2, 3],
    [3, 2, 1],
    [0, 5, 1],
  ];
  expect(mapOf(vectors)).toEqual(mapOf(vectors.map((each) => [...each])));
});

test.each([
  [[], []],
  [[[1, 2]], [[0, 0]]],
  [
    [
      [1, 2],
      [1, 2],
    ],
    [
      [0, 0],
      [0, 0],
    ],
  ],
])("%o, which has no spread, lies in the middle", (vectors, points) => {
  expect(mapOf(vectors)).toEqual(points);
});

test("likeness is the cosine", () => {
  expect(cosine([1, 0], [0, 3])).toBe(0);
  expect(cosine([1, 1], [2, 2])).toBeCloseTo(1);
  expect(cosine([0, 0], [1, 1])).toBe(0);
});

test("the nearest of each is another one", () => {
  const found = nearest([
    [1, 0],
    [0.9, 0.1],
    [0, 1],
  ]);
  expect(found.map((each) => each?.at)).toEqual([1, 0, 1]);
  expect(nearest([[1, 0]])).toEqual([null]);
});
