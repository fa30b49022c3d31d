// A QR code's modules to its text. Source: ISO/IEC 18004:2015 §7.3 to §7.10 and §12.

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

/** Which code differs least from either copy, and in how many bits. */
function nearest(codes, copies) {
  const off = codes.map((code) => Math.min(...copies.map((copy) =>
    (code ^ copy).toString(2).replaceAll("0", "").length)));
  const least = Math.min(...off);
  return { index: off.indexOf(least), off: least };
}

/** Level, mask, and how many bits were wrong. §7.9. */
function formatOf(at, size) {
  const copies = [0, 0];
  const bit = (copy, x, y) => { copies[copy] += copies[copy] + at(x, y); };
  for (let x = 0; x < 8; x += 1) if (x !== 6) bit(0, x, 8);
  for (let y = 8; y >= 0; y -= 1) if (y !== 6) bit(0, 8, y);
  for (let i = 1; i < 8; i += 1) bit(1, 8, size - i);
  for (let i = 8; i > 0; i -= 1) bit(1, size - i, 8);
  const { index, off } = nearest(formats, copies);
  // They are numbered M, L, H, Q.
  return { level: (index >> 3) ^ 1, mask: index & 7, off };
}

/** The version that a code of version 7 or more tells; null if unreadable. §7.10. */
export function versionOf(bits, size) {
  const copies = [0, 0];
  for (let i = 17; i >= 0; i -= 1) {
    const [long, short] = [Math.floor(i / 3), size - 11 + (i % 3)];
    copies[0] = (copies[0] << 1) | bits[long * size + short];
    copies[1] = (copies[1] << 1) | bits[short * size + long];
  }
  const { index, off } = nearest(versions, copies);
  return off <= 3 ? index + 7 : null;
}

/** A mask turns modules over where it gives 0. §7.8.2, Table 10. */
const masks = [
  (x, y) => (x + y) % 2,
  (x, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2,
  (x, y) => (x * y) % 6,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
];

/** The codewords in the order in which they stand. §7.7.3. */
function codewordsOf(at, { size, map }, mask) {
  const words = [];
  let word = 1;
  for (let right = size - 1, up = true; right > 0; right -= 2, up = !up) {
    if (right === 6) right = 5;
    for (let i = 0; i < 2 * size; i += 1) {
      const x = right - (i & 1);
      const y = up ? size - 1 - (i >> 1) : i >> 1;
      if (map[y * size + x] !== DATA) continue;
      word = (word << 1) | (at(x, y) ^ (masks[mask](x, y) === 0));
      if (word < 256) continue;
      words.push(word & 255);
      word = 1;
    }
  }
  return words;
}

/** The data codewords, corrected; null if a block cannot be. §7.6. */
function dataOf(words, version, level) {
  const { checks, count, limit } = blocksOf(version, level);
  const blocks = Array.from({ length: count }, () => []);
  // Data in turns, one more for the last blocks, then check codewords in turns.
  const data = words.length - checks * count;
  const even = data - (data % count);
  words.forEach((word, i) => {
    if (i < even) blocks[i % count].push(word);
    else if (i < data) blocks[count - data + i].push(word);
    else blocks[(i - data) % count].push(word);
  });
  if (!blocks.every((block) => correct(block, checks, limit))) return null;
  return blocks.flatMap((block) => block.slice(0, -checks));
}

/** Digits in groups of three. §7.4.3. */
function digits(take, count) {
  let text = "";
  for (let left = count; left > 0; left -= 3) {
    const width = Math.min(left, 3);
    text += String(take(1 + width * 3)).padStart(width, "0");
  }
  return text;
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";

/** Characters of the 45, in pairs. §7.4.4. */
function characters(take, count) {
  let text = "";
  for (let left = count; left > 0; left -= 2) {
    const value = take(left > 1 ? 11 : 6);
    if (left > 1) text += alphanumeric.charAt(value / 45);
    text += alphanumeric[value % 45];
  }
  return text;
}

/** The encoding's name by its assignment number. Source: AIM ECI Part 3. */
function encodingOf(take) {
  const number = take(8);
  if (number >= 3 && number <= 18) return `iso-8859-${number - 2}`;
  if (number === 26) return "utf-8";
  throw new RangeError("no such encoding");
}

/** Bytes as an ECI says; without one as UTF-8, or Latin-1 where they are none. §7.4.5. */
function characterBytes(take, count, encoding) {
  const bytes = Uint8Array.from({ length: count }, () => take(8));
  const decoded = (name) => new TextDecoder(name, { fatal: true }).decode(bytes);
  try {
    return decoded(encoding ?? "utf-8");
  } catch {
    return decoded(encoding ?? "iso-8859-1");
  }
}

/** The text of the data codewords. §7.4; Table 3 has the counts' widths. */
function textOf(data, version) {
  const bits = data.map((byte) => byte.toString(2).padStart(8, "0")).join("");
  let place = 0;
  const take = (count) => {
    if (place + count > bits.length) throw new RangeError("the data ends early");
    place += count;
    return parseInt(bits.slice(place - count, place), 2);
  };
  const wide = version < 10 ? 0 : version < 27 ? 1 : 2;
  let text = "";
  let encoding = null;
  while (bits.length - place >= 4) {
    const mode = take(4);
    if (mode === 0) break;
    else if (mode === 1) text += digits(take, take([10, 12, 14][wide]));
    else if (mode === 2) text += characters(take, take([9, 11, 13][wide]));
    else if (mode === 4) text += characterBytes(take, take(wide ? 16 : 8), encoding);
    else if (mode === 7) encoding = encodingOf(take);
    // Kanji (8) and FNC1 (5, 9) are in no URL; a part of a text (3) is none.
    else throw new RangeError("no such mode");
  }
  return text;
}

/** The text of rows of modules, 1 for dark, or of their mirror image; null if there is none. */
export function decodeModules(bits, version) {
  const plan = planOf(version);
  const { size } = plan;
  const views = [(x, y) => bits[y * size + x], (x, y) => bits[x * size + y]];
  for (const at of views) {
    const { level, mask, off } = formatOf(at, size);
    const data = off <= 3 && dataOf(codewordsOf(at, plan, mask), version, level);
    if (!data) continue;
    try {
      return textOf(data, version) || null;
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    }
  }
  return null;
}
