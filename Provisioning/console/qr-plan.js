// What a QR code's modules mean, by version. Source: ISO/IEC 18004:2015 §6.3 and §7.3 to §7.10.

/** Check codewords in a block, by level (L, M, Q, H) and version. Source: Table 9. */
const checkCounts = [
  `7 10 15 20 26 18 20 24 30 18 20 24 26 30 22 24 28 30 28 28 28 28 30 30 26 28 30 30 30 30
   30 30 30 30 30 30 30 30 30 30`,
  `10 16 26 18 24 16 18 22 22 26 30 22 22 24 24 28 28 26 26 26 26 28 28 28 28 28 28 28 28 28
   28 28 28 28 28 28 28 28 28 28`,
  `13 22 18 26 18 24 18 22 20 24 28 26 24 20 30 24 28 28 26 30 28 30 30 30 30 28 30 30 30 30
   30 30 30 30 30 30 30 30 30 30`,
  `17 28 22 16 22 28 26 26 24 28 24 28 22 24 24 30 28 28 26 28 30 24 30 30 30 30 30 30 30 30
   30 30 30 30 30 30 30 30 30 30`,
].map((row) => row.split(/\s+/).map(Number));

/** Blocks, by level (L, M, Q, H) and version. Source: Table 9. */
const blockCounts = [
  `1 1 1 1 1 2 2 2 2 4 4 4 4 4 6 6 6 6 7 8 8 9 9 10 12 12 12 13 14 15 16 17 18 19 19 20 21 22
   24 25`,
  `1 1 1 2 2 4 4 4 5 5 5 8 9 9 10 10 11 13 14 16 17 17 18 20 21 23 25 26 28 29 31 33 35 37 38
   40 43 45 47 49`,
  `1 1 2 2 4 4 6 6 8 8 8 10 12 16 12 17 16 18 21 20 23 23 25 27 29 34 34 35 38 40 43 45 48 51
   53 56 59 62 65 68`,
  `1 1 2 4 4 4 5 6 8 8 11 11 16 16 18 16 19 21 25 25 25 34 30 32 35 37 40 42 45 48 51 54 57 60
   63 66 70 74 77 81`,
].map((row) => row.split(/\s+/).map(Number));

/** Codewords kept back so that a wrong code is not taken for a damaged one. Source: Table 9. */
const keptBack = { "1L": 3, "1M": 2, "1Q": 1, "1H": 1, "2L": 2, "3L": 1 };

/** The blocks of a version and level (0 to 3: L, M, Q, H), for `total` codewords in all. */
export function blocksOf(version, level, total) {
  const checks = checkCounts[level][version - 1];
  const count = blockCounts[level][version - 1];
  const kept = keptBack[version + "LMQH"[level]] ?? 0;
  const short = Math.floor(total / count);
  const longOnes = total % count;
  return { checks, count, short, longOnes, limit: (checks - kept) >> 1 };
}

/** Centres of the alignment patterns on one axis, in modules. Source: Annex E. */
export function alignmentCentres(version) {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = version === 32
    ? 26 : Math.floor((version * 4 + count * 2 + 1) / (count * 2 - 2)) * 2;
  const centres = [6];
  for (let i = count - 2; i >= 0; i -= 1) centres.push(version * 4 + 10 - i * step);
  return centres;
}

export const DATA = 2;
export const RESERVED = 3;
const plans = new Map();

/**
 * The plan of a version: `map` has 0 (light) or 1 (dark) for each module of a fixed pattern,
 * `DATA` or `RESERVED` for the others; `marks` are the fixed ones as [x, y, ±1] in one array.
 */
export function planOf(version) {
  const known = plans.get(version);
  if (known) return known;
  const size = 17 + 4 * version;
  const map = new Uint8Array(size * size).fill(DATA);
  const set = (x, y, value) => {
    if (x >= 0 && y >= 0 && x < size && y < size) map[y * size + x] = value;
  };
  const ring = (x, y, radius, value) => {
    for (let dy = -radius; dy <= radius; dy += 1) {
      for (let dx = -radius; dx <= radius; dx += 1) {
        if (Math.max(Math.abs(dx), Math.abs(dy)) === radius) set(x + dx, y + dy, value);
      }
    }
  };
  for (let i = 0; i < size; i += 1) {
    set(6, i, 1 - (i & 1));
    set(i, 6, 1 - (i & 1));
  }
  const centres = alignmentCentres(version);
  const alignments = [];
  const end = centres.length - 1;
  centres.forEach((y, row) => centres.forEach((x, column) => {
    if ((row === 0 && (column === 0 || column === end)) || (row === end && column === 0)) return;
    alignments.push({ x, y, row, column });
    for (let radius = 0; radius <= 2; radius += 1) ring(x, y, radius, 1 - (radius & 1));
  }));
  for (let i = 0; i < 9; i += 1) {
    set(i, 8, i === 6 ? 1 : RESERVED);
    set(8, i, i === 6 ? 1 : RESERVED);
    if (i < 8) set(size - 1 - i, 8, RESERVED);
    if (i < 8) set(8, size - 1 - i, RESERVED);
  }
  set(8, size - 8, 1);
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) {
    for (let radius = 0; radius <= 4; radius += 1) ring(x, y, radius, "11010"[radius] & 1);
  }
  for (let i = 0; i < 18 && version >= 7; i += 1) {
    set(size - 11 + (i % 3), Math.floor(i / 3), RESERVED);
    set(Math.floor(i / 3), size - 11 + (i % 3), RESERVED);
  }
  const marks = [];
  map.forEach((value, i) => {
    if (value < DATA) marks.push(i % size, Math.floor(i / size), value ? 1 : -1);
  });
  const plan = { version, size, map, marks, centres, alignments };
  plans.set(version, plan);
  return plan;
}
