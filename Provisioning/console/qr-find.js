// Where the finder patterns of QR codes stand in a picture.
// Source: ISO/IEC 18004:2015 §6.3.3 (dark, light, dark, light, dark as 1 : 1 : 3 : 1 : 1).

/**
 * How much darker each pixel of a grey picture {width, height, pixels} is than the mean of the
 * square around it, whose side is twice `reach`.
 */
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
      const left = Math.max(0, x - reach);
      const right = Math.min(width, x + reach);
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
  return runs.every((run, i) => {
    const ideal = i === 2 ? 3 * module : module;
    return Math.abs(run - ideal) < 0.7 * ideal;
  });
}

/**
 * Steps from a point to the three changes of colour that follow in a direction; null if there
 * are fewer within `most` steps. The picture's border counts as the last of them.
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

/** A line through a finder pattern: its width, and how far off the centre is, in steps. */
export function across(picture, x, y, dx, dy, most) {
  const ahead = changes(picture, x, y, dx, dy, most);
  const behind = ahead && changes(picture, x, y, -dx, -dy, most);
  if (!behind) return null;
  const fits = isFinder(behind[2] - behind[1], behind[1] - behind[0], ahead[0] + behind[0] - 1,
    ahead[1] - ahead[0], ahead[2] - ahead[1]);
  return fits ? { width: ahead[2] + behind[2] - 1, off: (ahead[0] - behind[0]) / 2 } : null;
}

/** Looks at a place more closely, and adds it to `found` or to what stands there already. */
function consider(picture, found, x, y, width, dark) {
  const near = found.find((other) => other.dark === dark
    && Math.abs(other.x - x) < other.module * 2 && Math.abs(other.y - y) < other.module * 2);
  if (near?.count > 3) {
    near.count += 1;
    return;
  }
  const down = across(picture, x, y, 0, 1, width * 3);
  if (!down || down.width * 3 < width) return;
  const cy = y + down.off;
  const level = across(picture, x, cy, 1, 0, width * 2);
  if (!level) return;
  const cx = x + level.off;
  const most = Math.max(width, down.width) * 1.5;
  if (!across(picture, cx, cy, 1, 1, most) && !across(picture, cx, cy, 1, -1, most)) return;
  const now = near ?? { x: 0, y: 0, module: 0, dark, count: 0 };
  now.count += 1;
  now.x += (cx - now.x) / now.count;
  now.y += (cy - now.y) / now.count;
  now.module += ((level.width + down.width) / 14 - now.module) / now.count;
  if (!near) found.push(now);
}

/** Finder patterns of either colour: {x, y, module, dark, count}, `count` rows met it. */
function findersIn(picture, until) {
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
      if (c > a && c > b && a && isFinder(a, b, c, d, e)) {
        consider(picture, found, x - e - d - c / 2, y + 0.5, a + b + c + d + e, dark);
      }
      [a, b, c, d, e] = [b, c, d, e, 1];
      dark = !dark;
    }
  }
  return found;
}

/** How unlike one code's three finders are, of which one is the corner. */
function unlikeness(corner, right, below) {
  const [ax, ay] = [right.x - corner.x, right.y - corner.y];
  const [bx, by] = [below.x - corner.x, below.y - corner.y];
  const [a, b] = [Math.hypot(ax, ay), Math.hypot(bx, by)];
  const modules = [corner, right, below].map((finder) => finder.module);
  const spread = Math.max(...modules) / Math.min(...modules) - 1;
  const side = (a + b) / 2 / corner.module;
  const slant = Math.abs(ax * bx + ay * by) / (a * b);
  // Centres are 14 to 170 modules apart; at 45° a module seems 1.4 times as wide.
  if (side < 8 || side > 200 || spread > 1.2 || slant > 0.75) return Infinity;
  return spread + slant + (2 * Math.abs(a - b)) / (a + b);
}

/** Threes of finders that may be a code's, the likeliest dozen: {corner, right, below, dark}. */
export function triplesIn(picture, until) {
  const finders = findersIn(picture, until);
  const triples = [];
  for (const dark of [true, false]) {
    const some = finders.filter((finder) => finder.dark === dark)
      .sort((a, b) => b.count / b.module - a.count / a.module).slice(0, 20);
    some.forEach((corner, i) => some.forEach((one, j) => some.slice(0, j).forEach((other, k) => {
      if (i === j || i === k) return;
      const unlike = unlikeness(corner, one, other);
      // Clockwise from the corner. A code that is seen in a mirror is turned round later.
      const turn = (one.x - corner.x) * (other.y - corner.y)
        - (one.y - corner.y) * (other.x - corner.x);
      const [right, below] = turn > 0 ? [one, other] : [other, one];
      if (unlike < 1.6) triples.push({ corner, right, below, dark, unlike });
    })));
  }
  return triples.sort((a, b) => a.unlike - b.unlike).slice(0, 12);
}
