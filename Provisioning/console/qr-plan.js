// What a QR code's modules mean, by version. Source: ISO/IEC 18004:2015 §6.3 and Annex E.

/** Check codewords in a block, by level (L, M, Q, H) and version, in base 36. Source: Table 9. */
const checkCounts = [
  "7afkqikouikoqumosussssuuqsuuuuuuuuuuuuuu",
  "agqiogimmqummoossqqqqsssssssssssssssssss",
  "dmiqioimkosqokuossqusuuuusuuuuuuuuuuuuuu",
  "hsmgmsqqososmooussqsuouuuuuuuuuuuuuuuuuu",
];

/** Blocks, by level and version, in two digits each. Source: Table 9. */
const blockCounts = [
  "01010101010202020204040404040606060607080809091012121213141516171819192021222425",
  "01010102020404040505050809091010111314161717182021232526282931333537384043454749",
  "01010202040406060808081012161217161821202323252729343435384043454851535659626568",
  "01010204040405060808111116161816192125252534303235374042454851545760636670747781",
];

/** Check codewords kept back, to misread less. Source: Table 9. */
const keptBack = { "1L": 3, "1M": 2, "1Q": 1, "1H": 1, "2L": 2, "3L": 1 };

/** A code's count of blocks, and each one's check codewords and correctable ones. */
export function blocksOf(version, level) {
  const checks = parseInt(checkCounts[level][version - 1], 36);
  const kept = keptBack[version + "LMQH"[level]] ?? 0;
  const count = Number(blockCounts[level].slice(2 * version - 2, 2 * version));
  return { count, checks, limit: (checks - kept) >> 1 };
}

/** Centres of the alignment patterns on one axis, in modules. Source: Annex E. */
function alignmentCentres(version) {
  const gaps = Math.floor(version / 7) + 1;
  const step = version === 32 ? 26 : Math.floor((version * 4 + gaps * 2 + 3) / (gaps * 2)) * 2;
  return [6, ...Array.from({ length: gaps }, (_, i) => version * 4 + 10 - i * step).reverse()];
}

/** What a map has for modules that are in no fixed pattern, where it has 0 or 1 (dark). */
export const DATA = 2;
const RESERVED = 3;
const plans = new Map();

/**
 * The plan of a version: its `size` and the `map` of its modules; the `marks` of the fixed
 * patterns as x, y, ±1, …; the centres [x, y] of its `alignments`.
 */
export function planOf(version) {
  if (plans.has(version)) return plans.get(version);
  const size = 17 + 4 * version;
  const map = new Uint8Array(size * size).fill(DATA);
  const set = (x, y, value) => {
    if (x >= 0 && y >= 0 && x < size && y < size) map[y * size + x] = value;
  };
  /** Squares around a centre, the innermost first. */
  const pattern = (x, y, ...values) => {
    const reach = values.length - 1;
    for (let dy = -reach; dy <= reach; dy += 1) {
      for (let dx = -reach; dx <= reach; dx += 1) {
        set(x + dx, y + dy, values[Math.max(Math.abs(dx), Math.abs(dy))]);
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
  alignments.forEach(([x, y]) => pattern(x, y, 1, 0, 1));
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) pattern(x, y, 1, 1, 0, 1, 0);
  const marks = [];
  map.forEach((value, i) => {
    if (value < DATA) marks.push(i % size, Math.floor(i / size), value ? 1 : -1);
  });
  plans.set(version, { version, size, map, marks, alignments });
  return plans.get(version);
}
