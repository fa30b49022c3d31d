// A QR code's modules to its text. Source: ISO/IEC 18004:2015 §7.4 to §7.10 and §12.

import { correct } from "./qr-field.js";
import { DATA, blocksOf, planOf } from "./qr-plan.js";

/** `value` with the remainder of a BCH code behind it. Source: Annexes C and D. */
function coded(value, generator, checks) {
  let rest = value << checks;
  for (let bit = 31; bit >= checks; bit -= 1) {
    if ((rest >>> bit) & 1) rest ^= generator << (bit - checks);
  }
  return (value << checks) | rest;
}

const formats = Array.from({ length: 32 }, (_, i) => coded(i, 0x537, 10) ^ 0x5412);
const versions = Array.from({ length: 34 }, (_, i) => coded(i + 7, 0x1f25, 12));

function distance(a, b) {
  let count = 0;
  for (let rest = a ^ b; rest; rest &= rest - 1) count += 1;
  return count;
}

/** The place and the distance of the code nearest to what was read, in any of its copies. */
function nearest(codes, copies) {
  let best = { index: 0, distance: Infinity };
  codes.forEach((code, index) => {
    const off = Math.min(...copies.map((copy) => distance(code, copy)));
    if (off < best.distance) best = { index, distance: off };
  });
  return best;
}

/** Level and mask, with how many bits of the better copy were wrong. Source: §7.9. */
function formatOf(at, size) {
  const copies = [0, 0];
  const bit = (copy, x, y) => { copies[copy] = (copies[copy] << 1) | at(x, y); };
  for (let x = 0; x < 8; x += 1) if (x !== 6) bit(0, x, 8);
  for (let y = 8; y >= 0; y -= 1) if (y !== 6) bit(0, 8, y);
  for (let i = 1; i < 8; i += 1) bit(1, 8, size - i);
  for (let i = 8; i > 0; i -= 1) bit(1, size - i, 8);
  const { index, distance: off } = nearest(formats, copies);
  return { level: (index >> 3) ^ 1, mask: index & 7, off };
}

/** The version that is written in a code of 7 or more; null where it cannot be read. */
export function versionOf(bits, size) {
  const copies = [0, 0];
  for (let i = 17; i >= 0; i -= 1) {
    const [long, short] = [Math.floor(i / 3), size - 11 + (i % 3)];
    copies[0] = (copies[0] << 1) | bits[long * size + short];
    copies[1] = (copies[1] << 1) | bits[short * size + long];
  }
  const { index, distance: off } = nearest(versions, copies);
  return off <= 3 ? index + 7 : null;
}

/** Whether a mask turns a module over. Source: §7.8.2, Table 10. */
const masks = [
  (x, y) => (x + y) % 2 === 0,
  (x, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The codewords in the order in which they stand in the symbol. Source: §7.7.3. */
function codewordsOf(at, plan, mask) {
  const { size, map } = plan;
  const words = [];
  let word = 1;
  for (let right = size - 1, up = true; right > 0; right -= 2, up = !up) {
    if (right === 6) right = 5;
    for (let i = 0; i < size; i += 1) {
      const y = up ? size - 1 - i : i;
      for (let x = right; x > right - 2; x -= 1) {
        if (map[y * size + x] !== DATA) continue;
        word = (word << 1) | (at(x, y) ^ masks[mask](x, y));
        if (word < 256) continue;
        words.push(word & 255);
        word = 1;
      }
    }
  }
  return words;
}

/** The data codewords, corrected; null if a block cannot be. Source: §7.6 and §12. */
function dataOf(words, version, level) {
  const { checks, count, short, longOnes, limit } = blocksOf(version, level, words.length);
  const blocks = Array.from({ length: count }, () => []);
  const split = short - checks;
  words.slice(0, split * count).forEach((word, i) => blocks[i % count].push(word));
  const longs = words.slice(split * count, split * count + longOnes);
  longs.forEach((word, i) => blocks[count - longOnes + i].push(word));
  words.slice(split * count + longOnes).forEach((word, i) => blocks[i % count].push(word));
  if (!blocks.every((block) => correct(block, checks, limit))) return null;
  return blocks.flatMap((block) => block.slice(0, block.length - checks));
}

/** Bits, the highest of each byte first. Reading past the end is a RangeError. */
class BitReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.place = 0;
  }

  get left() { return this.bytes.length * 8 - this.place; }

  take(count) {
    if (count > this.left) throw new RangeError("the data ends early");
    let value = 0;
    for (let i = 0; i < count; i += 1, this.place += 1) {
      value = (value << 1) | ((this.bytes[this.place >> 3] >> (7 - (this.place & 7))) & 1);
    }
    return value;
  }
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";

/** Digits in groups of three. Source: §7.4.3. */
function digits(reader, count) {
  let text = "";
  for (let left = count; left > 0; left -= 3) {
    const width = Math.min(left, 3);
    const value = reader.take(1 + width * 3);
    if (value >= 10 ** width) throw new RangeError("no digits");
    text += String(value).padStart(width, "0");
  }
  return text;
}

/** Characters of the 45, in pairs. Source: §7.4.4. */
function characters(reader, count) {
  let text = "";
  for (let left = count; left > 0; left -= 2) {
    const value = reader.take(left > 1 ? 11 : 6);
    if (value >= (left > 1 ? 2025 : 45)) throw new RangeError("no characters");
    if (left > 1) text += alphanumeric[Math.floor(value / 45)];
    text += alphanumeric[value % 45];
  }
  return text;
}

/** Kanji, as Shift JIS. Source: §7.4.6. */
function kanji(reader, count) {
  const bytes = [];
  for (let i = 0; i < count; i += 1) {
    const value = reader.take(13);
    const pair = (Math.floor(value / 0xc0) << 8) + (value % 0xc0);
    const code = pair + (pair < 0x1f00 ? 0x8140 : 0xc140);
    bytes.push(code >> 8, code & 255);
  }
  return decoded(bytes, "shift_jis");
}

/** Names of what an ECI assignment number says. Source: AIM ECI Part 3. */
const encodings = { 20: "shift_jis", 21: "windows-1250", 22: "windows-1251", 23: "windows-1252",
  24: "windows-1256", 25: "utf-16be", 26: "utf-8", 27: "utf-8", 28: "big5", 29: "gb18030",
  30: "euc-kr" };

function encodingOf(number) {
  if (number >= 3 && number <= 18) return `iso-8859-${number - 2}`;
  return encodings[number] ?? "utf-8";
}

function eci(reader) {
  const first = reader.take(8);
  if (first < 0x80) return first;
  if (first < 0xc0) return ((first & 0x3f) << 8) | reader.take(8);
  return ((first & 0x1f) << 16) | reader.take(16);
}

const decoded = (bytes, name) =>
  new TextDecoder(name, { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes));

/** Bytes as what an ECI says; without one as UTF-8, and as Latin-1 where they are none. */
function textOf(bytes, encoding) {
  if (encoding) return decoded(bytes, encoding);
  try {
    return decoded(bytes, "utf-8");
  } catch {
    return decoded(bytes, "iso-8859-1");
  }
}

/** The text of the data codewords. Source: §7.4. */
function segments(data, version) {
  const reader = new BitReader(data);
  const wide = version < 10 ? 0 : version < 27 ? 1 : 2;
  let text = "";
  let encoding = null;
  while (reader.left >= 4) {
    const mode = reader.take(4);
    if (mode === 0) break;
    if (mode === 1) text += digits(reader, reader.take([10, 12, 14][wide]));
    else if (mode === 2) text += characters(reader, reader.take([9, 11, 13][wide]));
    else if (mode === 4) {
      const count = reader.take(wide ? 16 : 8);
      text += textOf(Array.from({ length: count }, () => reader.take(8)), encoding);
    } else if (mode === 8) text += kanji(reader, reader.take([8, 10, 12][wide]));
    else if (mode === 7) encoding = encodingOf(eci(reader));
    else if (mode === 9) reader.take(8);
    // 3 is a part of a text, which is no text; 5 (FNC1) has no data of its own.
    else if (mode !== 5) throw new RangeError("an unknown mode");
  }
  return text;
}

/**
 * The text of a square of modules, 1 for dark, row by row; seen as in a mirror too.
 *
 * Null if it is none, or too damaged, or empty.
 */
export function decodeModules(bits, version) {
  const plan = planOf(version);
  const { size } = plan;
  const views = [(x, y) => bits[y * size + x], (x, y) => bits[x * size + y]].map((at) => (
    { at, format: formatOf(at, size) }));
  views.sort((a, b) => a.format.off - b.format.off);
  for (const { at, format } of views) {
    if (format.off > 3) continue;
    const data = dataOf(codewordsOf(at, plan, format.mask), version, format.level);
    if (!data) continue;
    try {
      return segments(data, version) || null;
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    }
  }
  return null;
}
