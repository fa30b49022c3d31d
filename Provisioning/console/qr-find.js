// The finder patterns of QR codes in a picture: dark, light, dark, light, dark as
// 1 : 1 : 3 : 1 : 1. Source: ISO/IEC 18004:2015 §6.3.3.

/** How much darker than the square of 2 × `reach` around it each pixel of a picture is. */
export function contrastOf({ width, height, pixels }, reach) {
  const stride = width + 1;
  const sums = new Uint32Array(stride * (height + 1));
  const values = new Int16Array(width * height);
  for (let y = 0; y < height; y += 1) {
    let row = 0;
    for (let x = 0, at = (y + 1) * stride; x < width; x += 1, at += 1) {
      row += pixels[y * width + x];
      sums[at + 1] = sums[at + 1 - stride] + row;
    }
  }
  for (let y = 0; y < height; y += 1) {
    const [top, bottom] = [Math.max(0, y - reach), Math.min(height, y + reach)];
    for (let x = 0; x < width; x += 1) {
      const [left, right] = [Math.max(0, x - reach), Math.min(width, x + reach)];
      const sum = sums[bottom * stride + right] - sums[top * stride + right]
        - sums[bottom * stride + left] + sums[top * stride + left];
      values[y * width + x] = sum / ((bottom - top) * (right - left)) - pixels[y * width + x];
    }
  }
  return { width, height, values };
}

/** Whether five runs are 1 : 1 : 3 : 1 : 1, each by 0.7 of what it should be. */
function isFinder(...runs) {
  const module = runs.reduce((sum, run) => sum + run) / 7;
  runs[2] /= 3;
  return runs.every((run) => Math.abs(run - module) < 0.7 * module);
}

/**
 * Steps from a point to the next three changes of colour, of which the border may be the last;
 * null if there are fewer within `most` steps.
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
    if (found.push(step) === 3) return found;
  }
  return null;
}

/** A finder pattern's width on a line, and how far off its centre is, in steps. */
export function across(picture, x, y, dx, dy, most) {
  const ahead = changes(picture, x, y, dx, dy, most);
  const behind = ahead && changes(picture, x, y, -dx, -dy, most);
  if (!behind) return null;
  const fits = isFinder(behind[2] - behind[1], behind[1] - behind[0], ahead[0] + behind[0] - 1,
    ahead[1] - ahead[0], ahead[2] - ahead[1]);
  return fits ? { width: ahead[2] + behind[2] - 1, off: (ahead[0] - behind[0]) / 2 } : null;
}

/** Looks more closely, and adds to what was found. */
function consider(picture, found, x, y, width, dark) {
  const near = found.find((other) => other.dark === dark
    && Math.max(Math.abs(other.x - x), Math.abs(other.y - y)) < other.module * 2);
  if (near?.count > 3) {
    near.count += 1;
    return;
  }
  const down = across(picture, x, y, 0, 1, width * 3);
  if (!down || down.width * 3 < width) return;
  const cy = y + down.off;
  const level = across(picture, x, cy, 1, 0, width * 2);
  if (!level) return;
  const cx = Math.floor(x) + 0.5 + level.off;
  const now = near ?? { x: 0, y: 0, module: 0, dark, count: 0 };
  now.count += 1;
  now.x += (cx - now.x) / now.count;
  now.y += (cy - now.y) / now.count;
  now.module += ((level.width + down.width) / 14 - now.module) / now.count;
  if (!near) found.push(now);
}

/** Finder patterns of either colour, {x, y, module, dark, count}; `count` rows met it. */
function findersIn(picture, until) {
  const { width, height, values } = picture;
  const found = [];
  for (let y = 0; y < height; y += 1) {
    if (found.length > 400 || performance.now() > until) break;
    let [a, b, c, d, e] = [0, 0, 0, 0, 0];
    let dark = values[y * width] > 0;
    for (let x = 0; x <= width; x += 1, e += 1) {
      if (x < width && values[y * width + x] > 0 === dark) continue;
      if (a && c > a && c > b && isFinder(a, b, c, d, e)) {
        consider(picture, found, x - e - d - c / 2, y + 0.5, a + b + c + d + e, dark);
      }
      [a, b, c, d, e] = [b, c, d, e, 0];
      dark = !dark;
    }
  }
  return found;
}

/** How unlike three finders of one code these are. */
function unlikeness(corner, right, below) {
  const [ax, ay] = [right.x - corner.x, right.y - corner.y];
  const [bx, by] = [below.x - corner.x, below.y - corner.y];
  const [a, b] = [Math.hypot(ax, ay), Math.hypot(bx, by)];
  const finders = [corner, right, below];
  const modules = finders.map((finder) => finder.module);
  // The rows of three modules meet a finder; what one or two met is more often chance.
  const chance = finders.map(({ count, module }) => Math.max(0, 1 - count / 2 / module));
  const spread = Math.max(...modules) / Math.min(...modules) - 1;
  const side = (a + b) / 2 / corner.module;
  const slant = Math.abs(ax * bx + ay * by) / (a * b);
  // 14 to 170 modules apart; at 45° a module seems 1.4 times as wide.
  if (side < 8 || side > 200 || spread > 1.2 || slant > 0.75) return Infinity;
  return chance.reduce((sum, one) => sum + one, spread + slant + Math.abs(a - b) / (a + b) * 2);
}

/** The dozen likeliest threes of finders: {corner, right, below, dark}. */
export function triplesIn(picture, until) {
  const finders = findersIn(picture, until);
  const triples = [];
  for (const dark of [true, false]) {
    const some = finders.filter((finder) => finder.dark === dark)
      .sort((a, b) => b.count / b.module - a.count / a.module).slice(0, 20);
    some.forEach((corner, i) => some.forEach((one, j) => some.slice(0, j).forEach((other, k) => {
      if (i === j || i === k) return;
      const unlike = unlikeness(corner, one, other);
      // Clockwise; what a mirror shows is turned over later.
      const turn = (one.x - corner.x) * (other.y - corner.y)
        - (one.y - corner.y) * (other.x - corner.x);
      const [right, below] = turn > 0 ? [one, other] : [other, one];
      if (unlike < 3) triples.push({ corner, right, below, dark, unlike });
    })));
  }
  return triples.sort((a, b) => a.unlike - b.unlike).slice(0, 12);
}
