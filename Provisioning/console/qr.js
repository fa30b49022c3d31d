// The QR code in a photo, read by the browser's own detector where it has one, else here.
// No worker, no WebAssembly, nothing evaluated: it runs under the console's policy.

import { contrastOf, triplesIn } from "./qr-find.js";
import { readTriple } from "./qr-fit.js";

/** Limits: the longest side that is looked at, in px; time, in ms; bytes of a photo. */
const SIDE = 1600;
const TIME = 1500;
const BYTES = 64 << 20;

/** Half the picture each way: means of four. */
function halved({ width, height, pixels }) {
  const [w, h] = [width >> 1, height >> 1];
  const half = new Uint8Array(w * h).map((_, i) => {
    const at = 2 * Math.floor(i / w) * width + 2 * (i % w);
    return (pixels[at] + pixels[at + 1] + pixels[at + width] + pixels[at + width + 1]) / 4;
  });
  return { width: w, height: h, pixels: half };
}

/** The text of a code in a grey picture; null if none is found in time. */
async function readGrey(picture, time) {
  const until = performance.now() + time;
  if (picture.width < 42 || picture.height < 42) return null;
  const half = picture.width + picture.height > 800 ? halved(picture) : picture;
  const quarter = half.width + half.height > 800 ? halved(half) : half;
  // Sizes to look at, and the part of them that light and dark are told by.
  for (const [level, part] of [[half, 0.06], [picture, 0.04], [quarter, 0.1], [half, 0.15],
    [picture, 0.2], [quarter, 0.4]]) {
    const contrast = contrastOf(level, Math.ceil(Math.max(level.width, level.height) * part));
    for (const triple of triplesIn(contrast, until)) {
      const text = readTriple(contrast, triple, until);
      if (text !== null) return text;
    }
    if (performance.now() > until) return null;
    // Meanwhile the page draws and answers.
    await new Promise((resolve) => setTimeout(resolve));
  }
  return null;
}

/** A picture of these sides in grey, on white, no longer than `SIDE`. */
function greyOf(source, ...sides) {
  const scale = Math.min(1, SIDE / Math.max(...sides));
  const [width, height] = sides.map((side) => Math.ceil(side * scale));
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(source, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const pixels = new Uint8Array(width * height).map((_, i) => (
    (data[4 * i] * 77 + data[4 * i + 1] * 150 + data[4 * i + 2] * 29) >> 8));
  return { width, height, pixels };
}

/** What the browser's own detector reads within a second, if it has one; else null. */
async function readNatively(source) {
  if (!("BarcodeDetector" in globalThis)) return null;
  const late = new Promise((resolve) => setTimeout(resolve, 1000, []));
  try {
    const detector = new BarcodeDetector({ formats: ["qr_code"] });
    const [code] = await Promise.race([detector.detect(source), late]);
    return code?.rawValue || null;
  } catch {
    return null;
  }
}

/** The text of a QR code in an image or a video of this size; null if none is found. */
export async function readPicture(source, width, height, time = TIME) {
  return await readNatively(source) ?? await readGrey(greyOf(source, width, height), time);
}

/** The text of a QR code in a photo; null if it shows none, or is no picture. */
export async function readQRCode(blob) {
  if (blob.size > BYTES) return null;
  const picture = await createImageBitmap(blob).catch(() => null);
  if (!picture) return null;
  try {
    return await readPicture(picture, picture.width, picture.height);
  } catch (error) {
    // There is no memory for it.
    if (error instanceof RangeError || error instanceof DOMException) return null;
    throw error;
  } finally {
    picture.close();
  }
}
