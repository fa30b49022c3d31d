// Reed-Solomon over GF(256), as QR codes use it.
// Source: ISO/IEC 18004:2015 §7.5.2 and Annex A; the field's polynomial is x^8+x^4+x^3+x^2+1.

const exp = new Uint8Array(510);
const log = new Uint8Array(256);
for (let power = 0, value = 1; power < 255; power += 1) {
  exp[power] = exp[power + 255] = value;
  log[value] = power;
  value = (value << 1) ^ (value & 0x80 ? 0x11d : 0);
}

const times = (a, b) => (a && b ? exp[log[a] + log[b]] : 0);
const inverse = (a) => exp[255 - log[a]];

/** The value of a polynomial at `x`; its lowest coefficient comes first. */
function valueAt(polynomial, x) {
  let sum = 0;
  for (let i = polynomial.length - 1; i >= 0; i -= 1) sum = times(sum, x) ^ polynomial[i];
  return sum;
}

/** The error locator of these syndromes, by Berlekamp and Massey. */
function locator(syndromes) {
  let current = [1];
  let previous = [1];
  let length = 0;
  let shift = 1;
  let last = 1;
  for (let n = 0; n < syndromes.length; n += 1) {
    let off = syndromes[n];
    for (let i = 1; i <= length; i += 1) off ^= times(current[i] ?? 0, syndromes[n - i]);
    if (off === 0) {
      shift += 1;
      continue;
    }
    const next = current.slice();
    const factor = times(off, inverse(last));
    previous.forEach((value, i) => {
      next[i + shift] = (next[i + shift] ?? 0) ^ times(factor, value);
    });
    for (let i = 0; i < next.length; i += 1) next[i] ??= 0;
    if (2 * length <= n) {
      length = n + 1 - length;
      previous = current;
      last = off;
      shift = 1;
    } else {
      shift += 1;
    }
    current = next;
  }
  return { polynomial: current.slice(0, length + 1), length };
}

/**
 * Corrects a block in place, whose last `checks` codewords are the check codewords.
 *
 * Returns whether it is a codeword now, with no more than `limit` of its codewords changed.
 */
export function correct(block, checks, limit) {
  const syndromes = [];
  for (let i = 0; i < checks; i += 1) {
    let sum = 0;
    for (const value of block) sum = times(sum, exp[i]) ^ value;
    syndromes.push(sum);
  }
  if (syndromes.every((value) => value === 0)) return true;
  const { polynomial, length } = locator(syndromes);
  if (length > limit) return false;
  // Forney: the evaluator over the locator's formal derivative.
  const evaluator = syndromes.map((_, n) => {
    let sum = 0;
    for (let i = 0; i <= Math.min(n, length); i += 1) {
      sum ^= times(polynomial[i] ?? 0, syndromes[n - i]);
    }
    return sum;
  }).slice(0, length);
  const derivative = polynomial.map((value, i) => (i & 1 ? value : 0)).slice(1);
  let found = 0;
  for (let place = 0; place < block.length; place += 1) {
    const x = exp[(255 - place) % 255];
    if (valueAt(polynomial, x) !== 0) continue;
    const slope = valueAt(derivative, x);
    if (slope === 0) return false;
    const size = times(valueAt(evaluator, x), inverse(slope));
    // The first syndrome is at x = 1: one more factor of the place.
    block[block.length - 1 - place] ^= times(size, exp[place % 255]);
    found += 1;
  }
  return found === length;
}
