// Lays a QR code's grid over a picture and reads its modules.
//
// Three finder patterns give the grid but for its perspective. That comes from their sizes at
// first, then from the alignment pattern, then from moving the grid until the fixed patterns
// (finders, timing, alignment) fit best. What bends the paper is left to the alignment patterns
// in between, each of which may be off a little. Source: ISO/IEC 18004:2015 §12.

import { decodeModules, versionOf } from "./qr-code.js";
import { across } from "./qr-find.js";
import { planOf } from "./qr-plan.js";

/** The share of the fixed modules that must be seen right before a code is read. */
const LIKELY = 0.58;
const SURE = 0.72;

/** A value between pixels; the border's beyond it. */
function sample({ width, height, values }, x, y) {
  const px = Math.min(Math.max(x - 0.5, 0), width - 1.001);
  const py = Math.min(Math.max(y - 0.5, 0), height - 1.001);
  const at = Math.floor(py) * width + Math.floor(px);
  const fx = px - Math.floor(px);
  const fy = py - Math.floor(py);
  const upper = values[at] + (values[at + 1] - values[at]) * fx;
  const lower = values[at + width] + (values[at + width + 1] - values[at + width]) * fx;
  return upper + (lower - upper) * fy;
}

/**
 * The projection of the square between the finders' centres onto four points
 * [x, y, x, y, …]: top left, top right, bottom left, bottom right. Source: Heckbert,
 * "Fundamentals of Texture Mapping and Image Warping", §2.2.3.
 */
function projection(points, size) {
  const [x0, y0, x1, y1, x2, y2, x3, y3] = points;
  const [ax, ay, bx, by] = [x1 - x3, y1 - y3, x2 - x3, y2 - y3];
  const [cx, cy] = [x0 - x1 - x2 + x3, y0 - y1 - y2 + y3];
  const area = ax * by - ay * bx || 1e-9;
  const g = (cx * by - cy * bx) / area;
  const h = (ax * cy - ay * cx) / area;
  const span = size - 7;
  return [x1 - x0 + g * x1, x2 - x0 + h * x2, x0, y1 - y0 + g * y1, y2 - y0 + h * y2, y0, g, h]
    .map((value, i) => (i === 2 || i === 5 ? value : value / span));
}

function project([a, b, c, d, e, f, g, h], column, row, to) {
  const u = column - 3.5;
  const v = row - 3.5;
  const w = 1 + g * u + h * v;
  to.x = (a * u + b * v + c) / w;
  to.y = (d * u + e * v + f) / w;
}

const spot = { x: 0, y: 0 };

/** How well the fixed patterns fit: the sum of what speaks for them, and the share that does. */
function fitness(picture, sign, plan, points) {
  const map = projection(points, plan.size);
  const { marks } = plan;
  let sum = 0;
  let right = 0;
  for (let i = 0; i < marks.length; i += 3) {
    project(map, marks[i] + 0.5, marks[i + 1] + 0.5, spot);
    const value = sample(picture, spot.x, spot.y) * marks[i + 2] * sign;
    sum += value;
    if (value > 0) right += 1;
  }
  return { sum, share: (3 * right) / marks.length };
}

/** How well an alignment pattern fits at a centre, shifted by (dx, dy) modules. */
function alignmentFit(picture, sign, map, x, y, dx, dy) {
  let sum = 0;
  for (let v = -2; v <= 2; v += 1) {
    for (let u = -2; u <= 2; u += 1) {
      project(map, x + 0.5 + u + dx, y + 0.5 + v + dy, spot);
      const dark = Math.max(Math.abs(u), Math.abs(v)) !== 1;
      // As many light as dark ones, by weight: evenly dark places fit nowhere.
      sum += sample(picture, spot.x, spot.y) * sign * (dark ? 8 / 17 : -1);
    }
  }
  return sum;
}

/** The shift, in modules, at which an alignment pattern fits best. */
function bestShift(picture, sign, map, { x, y }, reach, step) {
  let best = { fit: -Infinity, dx: 0, dy: 0 };
  for (let dy = -reach; dy <= reach; dy += step) {
    for (let dx = -reach; dx <= reach; dx += step) {
      const fit = alignmentFit(picture, sign, map, x, y, dx, dy);
      if (fit > best.fit) best = { fit, dx, dy };
    }
  }
  return best;
}

/** The finders' widths along the sides, which tell distances and perspective. */
function frameOf(picture, { corner, right, below }) {
  const width = (at, from, to) => {
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    const dx = (to.x - from.x) / length / 2;
    const dy = (to.y - from.y) / length / 2;
    const found = across(picture, at.x, at.y, dx, dy, at.module * 30);
    return found ? found.width / 14 : null;
  };
  const pair = (to) => {
    const near = width(corner, corner, to);
    const far = width(to, corner, to);
    const length = Math.hypot(to.x - corner.x, to.y - corner.y);
    const module = near && far ? (near + far) / 2 : near ?? far ?? corner.module;
    const weight = near && far ? Math.sqrt(near / far) : 1;
    return { modules: length / module, weight: Math.min(Math.max(weight, 0.7), 1.5) };
  };
  const [across1, down] = [pair(right), pair(below)];
  const weight = Math.max(across1.weight + down.weight - 1, 0.5);
  const opposite = ["x", "y"].map((axis) => (right[axis] * across1.weight
    + below[axis] * down.weight - corner[axis]) / weight);
  const points = [corner.x, corner.y, right.x, right.y, below.x, below.y, ...opposite];
  return { points, size: (across1.modules + down.modules) / 2 + 7 };
}

/** Moves the four points by less and less while the fixed patterns fit better. */
function climb(picture, sign, plan, points, module) {
  let best = fitness(picture, sign, plan, points);
  for (let step = module * 0.6; step > module * 0.06; step *= 0.65) {
    for (let i = 0; i < 8; i += 1) {
      for (const change of [step, -step]) {
        const moved = points.slice();
        moved[i] += change;
        const fit = fitness(picture, sign, plan, moved);
        if (fit.sum <= best.sum) continue;
        best = fit;
        points = moved;
        break;
      }
    }
  }
  return { points, share: best.share };
}

/** The grid of one version over a triple; null if the fixed patterns are not there. */
function fit(picture, triple, version) {
  const sign = triple.dark ? 1 : -1;
  const plan = planOf(version);
  const { points } = frameOf(picture, triple);
  const module = Math.hypot(points[2] - points[0], points[3] - points[1]) / (plan.size - 7);
  const last = plan.alignments.at(-1);
  if (last) {
    const map = projection(points, plan.size);
    const { dx, dy } = bestShift(picture, sign, map, last, 2 + plan.size * 0.06, 0.5);
    project(map, plan.size - 3.5 + dx, plan.size - 3.5 + dy, spot);
    points[6] = spot.x;
    points[7] = spot.y;
  }
  if (fitness(picture, sign, plan, points).share < LIKELY) return null;
  return { plan, sign, ...climb(picture, sign, plan, points, module) };
}

/** How far each alignment pattern is off, by row and column of its place; zeros elsewhere. */
function bends(picture, { plan, sign }, map) {
  const shifts = plan.centres.map(() => plan.centres.map(() => ({ dx: 0, dy: 0 })));
  for (const alignment of plan.alignments) {
    const flat = alignmentFit(picture, sign, map, alignment.x, alignment.y, 0, 0);
    const best = bestShift(picture, sign, map, alignment, 1.5, 0.25);
    if (best.fit > flat * 1.1) shifts[alignment.row][alignment.column] = best;
  }
  return shifts;
}

/** The shift at a module, between the alignment patterns around it. */
function shiftAt(shifts, centres, x, y) {
  const place = (at) => {
    let i = 0;
    while (i < centres.length - 2 && at > centres[i + 1]) i += 1;
    const part = (at - centres[i]) / (centres[i + 1] - centres[i]);
    return [i, Math.min(Math.max(part, 0), 1)];
  };
  const [column, u] = place(x);
  const [row, v] = place(y);
  const mix = (key) => {
    const upper = shifts[row][column][key] * (1 - u) + shifts[row][column + 1][key] * u;
    const lower = shifts[row + 1][column][key] * (1 - u) + shifts[row + 1][column + 1][key] * u;
    return upper * (1 - v) + lower * v;
  };
  return [mix("dx"), mix("dy")];
}

/** How dark each module is: the mean of nine places in it. */
function shades(picture, { plan, sign, points }) {
  const { size, centres } = plan;
  const map = projection(points, size);
  const shifts = centres.length > 2 ? bends(picture, { plan, sign }, map) : null;
  const grid = new Float32Array(size * size);
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      const [dx, dy] = shifts ? shiftAt(shifts, centres, x, y) : [0, 0];
      let sum = 0;
      for (let v = -0.25; v <= 0.25; v += 0.25) {
        for (let u = -0.25; u <= 0.25; u += 0.25) {
          project(map, x + 0.5 + dx + u, y + 0.5 + dy + v, spot);
          sum += sample(picture, spot.x, spot.y);
        }
      }
      grid[y * size + x] = sign * sum;
    }
  }
  return grid;
}

/** Each module against the mean of the 9 × 9 around it. */
function bitsOf(grid, size) {
  const bits = new Uint8Array(size * size);
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      let sum = 0;
      let count = 0;
      for (let v = Math.max(0, y - 4); v <= Math.min(size - 1, y + 4); v += 1) {
        for (let u = Math.max(0, x - 4); u <= Math.min(size - 1, x + 4); u += 1) {
          sum += grid[v * size + u];
          count += 1;
        }
      }
      bits[y * size + x] = grid[y * size + x] * count > sum ? 1 : 0;
    }
  }
  return bits;
}

/** The modules with what blur brought from their neighbours taken off. */
function sharpened(grid, size, amount) {
  return grid.map((value, i) => {
    const x = i % size;
    const left = grid[x > 0 ? i - 1 : i];
    const right = grid[x < size - 1 ? i + 1 : i];
    const around = left + right + (grid[i - size] ?? value) + (grid[i + size] ?? value);
    return value + amount * (value - around / 4);
  });
}

/** The text of the code whose finders these are; null if there is none, or time is over. */
export function readTriple(picture, triple, until) {
  const { size } = frameOf(picture, triple);
  const guess = Math.round((size - 17) / 4);
  const versions = [guess, guess - 1, guess + 1];
  const fits = [];
  const tried = new Set();
  const tryVersion = (version) => {
    if (version < 1 || version > 40 || tried.has(version)) return;
    if (performance.now() > until) return;
    tried.add(version);
    const found = fit(picture, triple, version);
    if (found) fits.push(found);
  };
  versions.forEach(tryVersion);
  for (let round = 0; round < 3 && fits.length > 0; round += 1) {
    fits.sort((a, b) => a.share - b.share);
    const best = fits.pop();
    if (best.share < SURE || performance.now() > until) return null;
    const { size: side, version } = best.plan;
    const grid = shades(picture, best);
    const bits = bitsOf(grid, side);
    const text = decodeModules(bits, version)
      ?? decodeModules(bitsOf(sharpened(grid, side, 1), side), version);
    if (text !== null) return text;
    const written = version >= 7 ? versionOf(bits, side) : null;
    if (written) tryVersion(written);
  }
  return null;
}
