// What a QR code's modules mean, by version. Source: ISO/IEC 18004:2015 §6.3 and Annex E.

const table = (rows) => rows.map((row) => row.split(/\s+/).map(Number));

/** Check codewords in a block, by level (L, M, Q, H) and version. Source: Table 9. */
const checkCounts = table([
  `7 10 15 20 26 18 20 24 30 18 20 24 26 30 22 24 28 30 28 28 28 28 30 30 26 28 30 30 30 30
   30 30 30 30 30 30 30 30 30 30`,
  `10 16 26 18 24 16 18 22 22 26 30 22 22 24 24 28 28 26 26 26 26 28 28 28 28 28 28 28 28 28
   28 28 28 28 28 28 28 28 28 28`,
  `13 22 18 26 18 24 18 22 20 24 28 26 24 20 30 24 28 28 26 30 28 30 30 30 30 28 30 30 30 30
   30 30 30 30 30 30 30 30 30 30`,
  `17 28 22 16 22 28 26 26 24 28 24 28 22 24 24 30 28 28 26 28 30 24 30 30 30 30 30 30 30 30
   30 30 30 30 30 30 30 30 30 30`]);

/** Blocks, by level and version. Source: Table 9. */
const blockCounts = table([
  `1 1 1 1 1 2 2 2 2 4 4 4 4 4 6 6 6 6 7 8 8 9 9 10 12 12 12 13 14 15 16 17 18 19 19 20 21 22
   24 25`,
  `1 1 1 2 2 4 4 4 5 5 5 8 9 9 10 10 11 13 14 16 17 17 18 20 21 23 25 26 28 29 31 33 35 37 38
   40 43 45 47 49`,
  `1 1 2 2 4 4 6 6 8 8 8 10 12 16 12 17 16 18 21 20 23 23 25 27 29 34 34 35 38 40 43 45 48 51
   53 56 59 62 65 68`,
  `1 1 2 4 4 4 5 6 8 8 11 11 16 16 18 16 19 21 25 25 25 34 30 32 35 37 40 42 45 48 51 54 57 60
   63 66 70 74 77 81`]);

/** Check codewords that correct nothing, so that less is misread. Source: Table 9. */
const keptBack = { "1L": 3, "1M": 2, "1Q": 1, "1H": 1, "2L": 2, "3L": 1 };

/** How a code has its blocks: their count, the check codewords and correctable ones of each. */
export function blocksOf(version, level) {
  const checks = checkCounts[level][version - 1];
  const kept = keptBack[version + "LMQH"[level]] ?? 0;
  return { count: blockCounts[level][version - 1], checks, limit: (checks - kept) >> 1 };
}

/** Centres of the alignment patterns on one axis, in modules. Source: Annex E. */
function alignmentCentres(version) {
  const gaps = Math.floor(version / 7) + 1;
  const step = version === 32 ? 26 : Math.floor((version * 4 + gaps * 2 + 3) / (gaps * 2)) * 2;
  return [6, ...Array.from({ length: gaps }, (_, i) => version * 4 + 10 - i * step).reverse()];
}

/** What `map` has for modules that are not of a fixed pattern, whose own are 0 and 1 (dark). */
export const DATA = 2;
const RESERVED = 3;
const plans = new Map();

/**
 * The plan of a version: `size` in modules; the `map` of them, row by row; the `marks` of the
 * fixed patterns, x, y and ±1 one after the other; the centres [x, y] of its `alignments`.
 */
export function planOf(version) {
  if (plans.has(version)) return plans.get(version);
  const size = 17 + 4 * version;
  const map = new Uint8Array(size * size).fill(DATA);
  const set = (x, y, value) => {
    if (x >= 0 && y >= 0 && x < size && y < size) map[y * size + x] = value;
  };
  /** Squares around a centre, the innermost first. */
  const pattern = (x, y, values) => {
    for (let radius = values.length - 1; radius >= 0; radius -= 1) {
      for (let i = 0; i < (2 * radius + 1) ** 2; i += 1) {
        const [dx, dy] = [i % (2 * radius + 1), Math.floor(i / (2 * radius + 1))];
        set(x + dx - radius, y + dy - radius, values[radius]);
      }
    }
  };
  for (let i = 0; i < 9; i += 1) {
    for (const place of [i, size - 1 - Math.min(i, 7)]) {
      set(place, 8, RESERVED);
      set(8, place, RESERVED);
    }
  }
  set(8, size - 8, 1);
  for (let i = 0; i < 18 && version >= 7; i += 1) {
    set(size - 11 + (i % 3), Math.floor(i / 3), RESERVED);
    set(Math.floor(i / 3), size - 11 + (i % 3), RESERVED);
  }
  for (let i = 0; i < size; i += 1) {
    set(6, i, 1 - (i & 1));
    set(i, 6, 1 - (i & 1));
  }
  const centres = version > 1 ? alignmentCentres(version) : [];
  const alignments = centres.flatMap((y) => centres.map((x) => [x, y]))
    .filter(([x, y]) => Math.min(x, y) > 6 || Math.max(x, y) < size - 7 && x !== y);
  alignments.forEach(([x, y]) => pattern(x, y, [1, 0, 1]));
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) pattern(x, y, [1, 1, 0, 1, 0]);
  const marks = [];
  map.forEach((value, i) => {
    if (value < DATA) marks.push(i % size, Math.floor(i / size), value ? 1 : -1);
  });
  plans.set(version, { version, size, map, marks, alignments });
  return plans.get(version);
}
