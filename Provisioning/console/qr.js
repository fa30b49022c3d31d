// The QR code in a photo: by the browser's own detector where it has one, else read here.
// No worker, no WebAssembly, nothing evaluated: it runs under the console's policy.

import { contrastOf, triplesIn } from "./qr-find.js";
import { readTriple } from "./qr-fit.js";

/** The longest side that is looked at, in px; the time for a photo, in ms; its most bytes. */
const SIDE = 1600;
const TIME = 1500;
const BYTES = 64 << 20;

/** Half the picture in each direction; each pixel is the mean of four. */
function halved({ width, height, pixels }) {
  const half = { width: width >> 1, height: height >> 1 };
  half.pixels = Uint8Array.from({ length: half.width * half.height }, (_, i) => {
    const at = 2 * Math.floor(i / half.width) * width + 2 * (i % half.width);
    return (pixels[at] + pixels[at + 1] + pixels[at + width] + pixels[at + width + 1] + 2) >> 2;
  });
  return half;
}

/** Sizes of the picture to look at, and the part of it that light and dark are told by. */
function looksAt(picture) {
  const half = Math.max(picture.width, picture.height) > 500 ? halved(picture) : picture;
  const quarter = half.width + half.height > 800 ? halved(half) : half;
  return [[half, 0.06], [picture, 0.04], [quarter, 0.1], [half, 0.15], [picture, 0.2],
    [quarter, 0.4]];
}

/** The text of a code in a grey picture {width, height, pixels}; null if none is found in time. */
async function readGrey(picture, time) {
  const until = performance.now() + time;
  if (picture.width < 42 || picture.height < 42) return null;
  for (const [level, part] of looksAt(picture)) {
    const contrast = contrastOf(level, Math.ceil(Math.max(level.width, level.height) * part));
    for (const triple of triplesIn(contrast, until)) {
      const text = readTriple(contrast, triple, until);
      if (text !== null) return text;
    }
    if (performance.now() > until) return null;
    // The page draws and answers between two looks.
    await new Promise((resolve) => setTimeout(resolve));
  }
  return null;
}

/** The picture in grey, on white, no longer than `SIDE`. */
function greyOf(source, sourceWidth, sourceHeight) {
  const scale = Math.min(1, SIDE / Math.max(sourceWidth, sourceHeight));
  const width = Math.max(1, Math.round(sourceWidth * scale));
  const height = Math.max(1, Math.round(sourceHeight * scale));
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(source, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const pixels = Uint8Array.from({ length: width * height }, (_, i) => (
    (data[4 * i] * 77 + data[4 * i + 1] * 150 + data[4 * i + 2] * 29) >> 8));
  return { width, height, pixels };
}

/** What the browser's own detector reads within a second; null if nothing, or it has none. */
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

/** The text of a QR code in an image or a video's frame of this size; null if none is found. */
export async function readPicture(source, width, height, time = TIME) {
  return await readNatively(source) ?? await readGrey(greyOf(source, width, height), time);
}

/** The text of a QR code in a photo; null if there is none in it, or `blob` is no picture. */
export async function readQRCode(blob) {
  if (blob.size > BYTES) return null;
  const picture = await createImageBitmap(blob).catch(() => null);
  if (!picture) return null;
  try {
    return await readPicture(picture, picture.width, picture.height);
  } catch (error) {
    // No memory for the picture.
    if (error instanceof RangeError || error instanceof DOMException) return null;
    throw error;
  } finally {
    picture.close();
  }
}
