// The QR code in a photo, read in the browser: by the browser's own detector where it has one,
// else here. No worker, no WebAssembly, nothing evaluated: it runs under the console's policy.

import { contrastOf, findersIn, triplesOf } from "./qr-find.js";
import { readTriple } from "./qr-fit.js";

/** The longest side that is looked at, in pixels, and the time that it may take, in ms. */
const SIDE = 1600;
const TIME = 1500;
/** A photo of more bytes than this is not opened. */
const BYTES = 64 << 20;

/** Half the picture in each direction; each pixel is the mean of four. */
function halved({ width, height, pixels }) {
  const [w, h] = [width >> 1, height >> 1];
  const half = new Uint8Array(w * h);
  for (let y = 0; y < h; y += 1) {
    for (let x = 0, from = 2 * y * width; x < w; x += 1, from += 2) {
      half[y * w + x] = (pixels[from] + pixels[from + 1] + pixels[from + width]
        + pixels[from + width + 1] + 2) >> 2;
    }
  }
  return { width: w, height: h, pixels: half };
}

/** Twice the picture in each direction, smoothly: for codes of two pixels a module. */
function doubled({ width, height, pixels }) {
  const [w, h] = [width * 2, height * 2];
  const twice = new Uint8Array(w * h);
  for (let y = 0; y < h; y += 1) {
    const y0 = (y >> 1) * width;
    const y1 = Math.min(Math.max((y >> 1) + (y & 1 ? 1 : -1), 0), height - 1) * width;
    for (let x = 0; x < w; x += 1) {
      const x0 = x >> 1;
      const x1 = Math.min(Math.max(x0 + (x & 1 ? 1 : -1), 0), width - 1);
      twice[y * w + x] = (9 * pixels[y0 + x0] + 3 * pixels[y0 + x1] + 3 * pixels[y1 + x0]
        + pixels[y1 + x1] + 8) >> 4;
    }
  }
  return { width: w, height: h, pixels: twice };
}

/** Which sizes of the picture are looked at, and how wide around each pixel, in what order. */
function* looks(grey) {
  const long = Math.max(grey.width, grey.height);
  const half = long > 500 ? halved(grey) : null;
  const quarter = long > 1000 ? halved(half) : null;
  const window = (level, part) => Math.ceil(Math.max(level.width, level.height) * part);
  if (half) yield [half, window(half, 0.06)];
  yield [grey, window(grey, 0.04)];
  if (quarter) yield [quarter, window(quarter, 0.1)];
  if (long <= 900) yield [doubled(grey), window(grey, 0.1)];
  if (half) yield [half, window(half, 0.15)];
  yield [grey, window(grey, 0.2)];
  yield [quarter ?? half ?? grey, window(quarter ?? half ?? grey, 0.4)];
}

/** Lets the page draw and answer between two looks. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 0));

/**
 * The text of a code in a grey picture {width, height, pixels}; null if none is found within
 * `time` milliseconds.
 */
export async function readGrey(grey, time = TIME) {
  if (grey.width < 21 || grey.height < 21) return null;
  const until = performance.now() + time;
  for (const [level, reach] of looks(grey)) {
    const picture = contrastOf(level, reach);
    for (const triple of triplesOf(findersIn(picture, until))) {
      const text = readTriple(picture, triple, until);
      if (text !== null) return text;
    }
    if (performance.now() > until) return null;
    await pause();
  }
  return null;
}

/** A picture's shades on white, no longer than `SIDE`. */
export function greyOf(source, width, height) {
  const scale = Math.min(1, SIDE / Math.max(width, height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingQuality = "high";
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const pixels = new Uint8Array(canvas.width * canvas.height);
  for (let i = 0, at = 0; i < pixels.length; i += 1, at += 4) {
    pixels[i] = (data[at] * 77 + data[at + 1] * 150 + data[at + 2] * 29) >> 8;
  }
  return { width: canvas.width, height: canvas.height, pixels };
}

/** What the browser's own detector reads; null if it reads nothing, or there is none. */
export async function readNatively(source) {
  try {
    const [code] = await new BarcodeDetector({ formats: ["qr_code"] }).detect(source);
    return code?.rawValue || null;
  } catch {
    return null;
  }
}

/** The text of the QR code in a photo; null if there is none, or `blob` is no picture. */
export async function readQRCode(blob) {
  if (blob.size > BYTES) return null;
  let picture;
  try {
    picture = await createImageBitmap(blob);
  } catch {
    return null;
  }
  try {
    return await readNatively(picture)
      ?? await readGrey(greyOf(picture, picture.width, picture.height));
  } catch (error) {
    if (error instanceof RangeError || error instanceof DOMException) return null;
    throw error;
  } finally {
    picture.close();
  }
}
