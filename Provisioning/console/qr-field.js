// Reed-Solomon over GF(256), as QR codes use it: the polynomial is x^8 + x^4 + x^3 + x^2 + 1.
// Source: ISO/IEC 18004:2015 §7.5.2 and Annex A.

const exp = new Uint8Array(510);
const log = new Uint8Array(256);
for (let power = 0, value = 1; power < 255; power += 1) {
  exp[power] = exp[power + 255] = value;
  log[value] = power;
  value = (value << 1) ^ (value & 0x80 ? 0x11d : 0);
}

const times = (a, b) => (a && b ? exp[log[a] + log[b]] : 0);
const over = (a, b) => (a ? exp[log[a] + 255 - log[b]] : 0);

/** The value of a polynomial at `x`; its lowest coefficient comes first. */
const valueAt = (polynomial, x) =>
  polynomial.reduceRight((sum, coefficient) => times(sum, x) ^ coefficient, 0);

/** The error locator of these syndromes, by Berlekamp and Massey. */
function locatorOf(syndromes) {
  let [current, previous] = [[1], [1]];
  let [length, shift, last] = [0, 1, 1];
  for (let n = 0; n < syndromes.length; n += 1, shift += 1) {
    let off = 0;
    for (let i = 0; i <= length; i += 1) off ^= times(current[i], syndromes[n - i]);
    if (off === 0) continue;
    const next = current.slice();
    previous.forEach((value, i) => { next[i + shift] ^= times(over(off, last), value); });
    if (2 * length <= n) {
      [length, shift, last, previous] = [n + 1 - length, 0, off, current];
    }
    current = Array.from(next, (value) => value ?? 0);
  }
  return { locator: current, length };
}

/**
 * Corrects a block in place, whose last `checks` codewords are check codewords. Returns whether
 * it is right then, with at most `limit` of its codewords changed.
 */
export function correct(block, checks, limit) {
  const received = block.slice().reverse();
  const syndromes = Array.from({ length: checks }, (_, i) => valueAt(received, exp[i]));
  if (syndromes.every((value) => value === 0)) return true;
  const { locator, length } = locatorOf(syndromes);
  if (length > limit) return false;
  // Forney: the evaluator over the locator's formal derivative.
  const evaluator = syndromes.slice(0, length).map((_, n) =>
    locator.slice(0, n + 1).reduce((sum, value, i) => sum ^ times(value, syndromes[n - i]), 0));
  const derivative = locator.map((value, i) => (i & 1 ? value : 0)).slice(1);
  const found = received.filter((_, place) => {
    const x = exp[255 - place];
    const slope = valueAt(derivative, x);
    if (slope === 0 || valueAt(locator, x) !== 0) return false;
    // The first syndrome is at 1, hence one more factor of the place.
    block[block.length - 1 - place] ^= times(over(valueAt(evaluator, x), slope), exp[place]);
    return true;
  });
  return found.length === length;
}
