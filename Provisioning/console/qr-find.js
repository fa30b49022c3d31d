// Where the finder patterns of QR codes stand in a picture.
// Source: ISO/IEC 18004:2015 §6.3.3 (dark, light, dark, light, dark as 1 : 1 : 3 : 1 : 1).

/** The most candidates of a colour that are looked at, and the most sets of three of them. */
const CANDIDATES = 20;
const TRIPLES = 12;

/**
 * How much darker each pixel is than the mean of the square around it, as signed numbers.
 *
 * `grey` is a level {width, height, pixels}; `reach` is half the square's side, in pixels.
 */
export function contrastOf({ width, height, pixels }, reach) {
  const stride = width + 1;
  const sums = new Uint32Array(stride * (height + 1));
  for (let y = 0, at = 0; y < height; y += 1) {
    let row = 0;
    for (let x = 1, to = (y + 1) * stride + 1; x <= width; x += 1, at += 1, to += 1) {
      row += pixels[at];
      sums[to] = sums[to - stride] + row;
    }
  }
  const values = new Int16Array(width * height);
  for (let y = 0, at = 0; y < height; y += 1) {
    const top = Math.max(0, y - reach);
    const bottom = Math.min(height, y + reach + 1);
    for (let x = 0; x < width; x += 1, at += 1) {
      const left = Math.max(0, x - reach);
      const right = Math.min(width, x + reach + 1);
      const sum = sums[bottom * stride + right] - sums[top * stride + right]
        - sums[bottom * stride + left] + sums[top * stride + left];
      values[at] = sum / ((bottom - top) * (right - left)) - pixels[at];
    }
  }
  return { width, height, values };
}

/** Whether five runs are 1 : 1 : 3 : 1 : 1, by half a module and a little more. */
function isFinder(a, b, c, d, e) {
  const module = (a + b + c + d + e) / 7;
  const slack = module * 0.7;
  return Math.abs(a - module) < slack && Math.abs(b - module) < slack
    && Math.abs(c - 3 * module) < 2.1 * module
    && Math.abs(d - module) < slack && Math.abs(e - module) < slack;
}

/**
 * Steps from a point to the three changes of colour that follow in a direction; null if there
 * are none within `most` steps. The picture's border counts as the last of them.
 */
function changes({ width, height, values }, x, y, dx, dy, most) {
  const found = [];
  let dark = values[Math.floor(y) * width + Math.floor(x)] > 0;
  for (let step = 1; step <= most; step += 1) {
    const px = Math.floor(x + dx * step);
    const py = Math.floor(y + dy * step);
    const outside = px < 0 || py < 0 || px >= width || py >= height;
    if (outside && found.length < 2) return null;
    if (!outside && values[py * width + px] > 0 === dark) continue;
    dark = !dark;
    found.push(step);
    if (found.length === 3) return found;
  }
  return null;
}

/** A line through a finder pattern's centre: its width and how far off the centre is, in px. */
export function across(picture, x, y, dx, dy, most) {
  const ahead = changes(picture, x, y, dx, dy, most);
  const behind = ahead && changes(picture, x, y, -dx, -dy, most);
  if (!behind) return null;
  const inner = ahead[0] + behind[0] - 1;
  const fits = isFinder(behind[2] - behind[1], behind[1] - behind[0], inner,
    ahead[1] - ahead[0], ahead[2] - ahead[1]);
  return fits ? { width: ahead[2] + behind[2] - 1, off: (ahead[0] - behind[0]) / 2 } : null;
}

/** Looks at a place more closely; adds it to `found`, or to what stands there already. */
function consider(picture, found, x, y, width, dark) {
  const near = found.find((other) => other.dark === dark
    && Math.abs(other.x - x) < other.module * 2 && Math.abs(other.y - y) < other.module * 2);
  if (near && near.count > 3) {
    near.count += 1;
    return;
  }
  const vertical = across(picture, x, y, 0, 1, width * 3);
  if (!vertical || vertical.width * 3 < width) return;
  const cy = y + vertical.off;
  const level = across(picture, x, cy, 1, 0, width * 2);
  if (!level) return;
  const cx = x + level.off;
  const most = Math.max(width, vertical.width) * 1.5;
  if (!across(picture, cx, cy, 1, 1, most) && !across(picture, cx, cy, 1, -1, most)) return;
  const module = (level.width + vertical.width) / 14;
  if (!near) {
    found.push({ x: cx, y: cy, module, dark, count: 1 });
    return;
  }
  near.x += (cx - near.x) / (near.count + 1);
  near.y += (cy - near.y) / (near.count + 1);
  near.module += (module - near.module) / (near.count + 1);
  near.count += 1;
}

/** Finder patterns, dark ones and light ones: {x, y, module, dark, count}. */
export function findersIn(picture, until) {
  const { width, height, values } = picture;
  const found = [];
  for (let y = 0; y < height; y += 1) {
    if (found.length > 400 || performance.now() > until) break;
    let [a, b, c, d, e] = [0, 0, 0, 0, 0];
    let dark = values[y * width] > 0;
    for (let x = 0; x <= width; x += 1) {
      if (x < width && values[y * width + x] > 0 === dark) {
        e += 1;
        continue;
      }
      if (a && isFinder(a, b, c, d, e)) {
        consider(picture, found, x - e - d - c / 2, y + 0.5, a + b + c + d + e, dark);
      }
      [a, b, c, d, e] = [b, c, d, e, 1];
      dark = !dark;
    }
  }
  return found;
}

/** How unlike the three finders of one code three finders are; the first is the corner. */
function unlikeness(corner, right, below) {
  const ax = right.x - corner.x;
  const ay = right.y - corner.y;
  const bx = below.x - corner.x;
  const by = below.y - corner.y;
  const a = Math.hypot(ax, ay);
  const b = Math.hypot(bx, by);
  const modules = [corner.module, right.module, below.module];
  const module = (modules[0] + modules[1] + modules[2]) / 3;
  const spread = Math.max(...modules) / Math.min(...modules) - 1;
  const side = (a + b) / 2 / module;
  const slant = Math.abs(ax * bx + ay * by) / (a * b);
  // Centres are 14 to 170 modules apart; at 45° a module seems 1.4 times as wide.
  if (side < 8 || side > 200 || spread > 1.2 || slant > 0.75) return Infinity;
  return spread + slant + (2 * Math.abs(a - b)) / (a + b);
}

/** Sets of three finders that may be a code's, the likeliest first: {corner, right, below}. */
export function triplesOf(finders) {
  const triples = [];
  for (const dark of [true, false]) {
    const some = finders.filter((finder) => finder.dark === dark)
      .sort((a, b) => b.count / b.module - a.count / a.module).slice(0, CANDIDATES);
    for (let i = 0; i < some.length; i += 1) {
      for (let j = 0; j < i; j += 1) {
        for (let k = 0; k < j; k += 1) addTriple(triples, some[i], some[j], some[k]);
      }
    }
  }
  return triples.sort((a, b) => a.unlikeness - b.unlikeness).slice(0, TRIPLES);
}

/** Adds the likeliest reading of three finders, with the corner's neighbours clockwise. */
function addTriple(triples, a, b, c) {
  for (const [corner, one, other] of [[a, b, c], [b, c, a], [c, a, b]]) {
    const unlike = unlikeness(corner, one, other);
    if (unlike > 1.6) continue;
    const turn = (one.x - corner.x) * (other.y - corner.y)
      - (one.y - corner.y) * (other.x - corner.x);
    const [right, below] = turn > 0 ? [one, other] : [other, one];
    triples.push({ corner, right, below, dark: corner.dark, unlikeness: unlike });
  }
}
