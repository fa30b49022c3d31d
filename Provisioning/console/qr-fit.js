// Lays a QR code's grid over a picture and reads its modules. Source: ISO/IEC 18004:2015 §12.

import { decodeModules, versionOf } from "./qr-code.js";
import { across } from "./qr-find.js";
import { planOf } from "./qr-plan.js";

/** The share of fixed modules that must be right. */
const [LIKELY, SURE] = [0.58, 0.72];

/** An alignment pattern as marks around its centre; its few light modules weigh more. */
const alignmentMarks = Array.from({ length: 25 }, (_, i) => [i % 5 - 2, Math.floor(i / 5) - 2])
  .flatMap(([x, y]) => [x, y, Math.max(Math.abs(x), Math.abs(y)) === 1 ? -17 / 8 : 1]);

/** The contrast at a point between pixels; beyond the border, of the border. */
function sample({ width, height, values, sign }, { x, y }) {
  const px = Math.min(Math.max(x - 0.5, 0), width - 1.001);
  const py = Math.min(Math.max(y - 0.5, 0), height - 1.001);
  const at = Math.floor(py) * width + Math.floor(px);
  const [fx, fy] = [px % 1, py % 1];
  const upper = values[at] + (values[at + 1] - values[at]) * fx;
  const lower = values[at + width] + (values[at + width + 1] - values[at + width]) * fx;
  return sign * (upper + (lower - upper) * fy);
}

/**
 * The map from modules to pixels that takes the finders' centres to four points.
 * Source: Heckbert, "Fundamentals of Texture Mapping and Image Warping", §2.2.3.
 */
function mapOf([x0, y0, x1, y1, x2, y2, x3, y3], size) {
  const [ax, ay, bx, by] = [x1 - x3, y1 - y3, x2 - x3, y2 - y3];
  const [cx, cy] = [x0 - x1 - x2 + x3, y0 - y1 - y2 + y3];
  const area = ax * by - ay * bx || 1e-9;
  const g = (cx * by - cy * bx) / area;
  const h = (ax * cy - ay * cx) / area;
  const [a, b, d, e] = [x1 - x0 + g * x1, x2 - x0 + h * x2, y1 - y0 + g * y1, y2 - y0 + h * y2];
  return (column, row) => {
    const u = (column - 3.5) / (size - 7);
    const v = (row - 3.5) / (size - 7);
    const w = 1 + g * u + h * v;
    return { x: (a * u + b * v + x0) / w, y: (d * u + e * v + y0) / w };
  };
}

/** How well marks around (x, y) fit, and the share of them that are right. */
function fitness(picture, map, marks, x = 0, y = 0) {
  let [sum, right] = [0, 0];
  for (let i = 0; i < marks.length; i += 3) {
    const value = marks[i + 2]
      * sample(picture, map(x + marks[i] + 0.5, y + marks[i + 1] + 0.5));
    // So that the grid does not drift to where the contrast is greater.
    sum += value / (Math.abs(value) + 10);
    right += value > 0;
  }
  return { sum, share: (3 * right) / marks.length };
}

/** How far an alignment pattern is off, in modules, within `reach`. */
function shiftOf(picture, map, [x, y], reach) {
  let best = { sum: -Infinity };
  for (let dy = -reach; dy <= reach; dy += 0.5) {
    for (let dx = -reach; dx <= reach; dx += 0.5) {
      const { sum } = fitness(picture, map, alignmentMarks, x + dx, y + dy);
      if (sum > best.sum) best = { sum, dx, dy };
    }
  }
  return best;
}

/** The grid's four points and size by the finders' places and widths. */
function frameOf(picture, { corner, right, below }) {
  const [first, second] = [right, below].map((other) => {
    const length = Math.hypot(other.x - corner.x, other.y - corner.y);
    const [dx, dy] = ["x", "y"].map((axis) => (other[axis] - corner[axis]) / length / 2);
    const [near, far] = [corner, other].map((finder) => (
      across(picture, finder.x, finder.y, dx, dy, finder.module * 30)?.width / 14));
    const module = (near + far) / 2 || near || far || corner.module;
    // What is seen half as wide is √2 times as far away.
    return { modules: length / module, depth: Math.min(Math.max(near / far || 1, 0.5), 2) ** 0.5 };
  });
  const depth = Math.max(first.depth + second.depth - 1, 0.5);
  const [x, y] = ["x", "y"].map((axis) => (
    (right[axis] * first.depth + below[axis] * second.depth - corner[axis]) / depth));
  const points = [corner.x, corner.y, right.x, right.y, below.x, below.y, x, y];
  return { points, size: (first.modules + second.modules) / 2 + 7 };
}

/** The grid of one version, and the share of its fixed patterns that is right. */
function gridOf(picture, frame, version, until) {
  if (performance.now() > until) return { share: 0 };
  const { size, marks, alignments } = planOf(version);
  let points = frame.points.slice();
  if (version > 1) {
    const map = mapOf(points, size);
    const { dx, dy } = shiftOf(picture, map, alignments.at(-1), 2 + size * 0.06);
    const fourth = map(size - 3.5 + dx, size - 3.5 + dy);
    points.splice(6, 2, fourth.x, fourth.y);
  }
  let best = fitness(picture, mapOf(points, size), marks);
  if (best.share < LIKELY) return best;
  const module = Math.hypot(points[2] - points[0], points[3] - points[1]) / (size - 7);
  for (let step = module * 0.6; step > module * 0.06; step *= 0.65) {
    for (let i = 0; i < 16; i += 1) {
      const moved = points.slice();
      moved[i >> 1] += i & 1 ? step : -step;
      const fit = fitness(picture, mapOf(moved, size), marks);
      if (fit.sum > best.sum * 1.002) [best, points] = [fit, moved];
    }
  }
  return { version, map: mapOf(points, size), share: best.share };
}

/** Which modules are dark, by the mean of nine points in each. */
function bitsOf(picture, { version, map }) {
  const { size } = planOf(version);
  const parts = [0.25, 0.5, 0.75];
  return new Uint8Array(size * size).map((_, i) => {
    const [x, y] = [i % size, Math.floor(i / size)];
    let sum = 0;
    for (const u of parts) for (const v of parts) sum += sample(picture, map(x + u, y + v));
    return sum > 0;
  });
}

/** The text of the code with these finders; null if there is none, or time is over. */
export function readTriple(contrast, triple, until) {
  const picture = { ...contrast, sign: triple.dark ? 1 : -1 };
  const frame = frameOf(picture, triple);
  const guess = Math.round((frame.size - 17) / 4);
  let versions = [guess - 1, guess, guess + 1];
  // Once more if the code itself tells another version.
  for (let round = 0; round < 2; round += 1) {
    const grids = versions.filter((version) => version > 0 && version <= 40)
      .map((version) => gridOf(picture, frame, version, until));
    const grid = grids.sort((a, b) => b.share - a.share)[0];
    if (!grid || grid.share < SURE || performance.now() > until) return null;
    const { size } = planOf(grid.version);
    const bits = bitsOf(picture, grid);
    const text = decodeModules(bits, grid.version);
    versions = [grid.version >= 7 && versionOf(bits, size)];
    if (text !== null || versions[0] === grid.version) return text;
  }
  return null;
}
