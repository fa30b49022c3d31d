// Reads a QR code from the camera's picture as it is seen.

import { readPicture } from "./qr.js";

/** Whether there may be a camera: browsers have none on a page without TLS. */
export const hasCamera = Boolean(navigator.mediaDevices?.getUserMedia);

/** Milliseconds between two looks, and for one. */
const PAUSE = 200;
const TIME = 400;

/**
 * Shows the camera in a video element until a code is read, and returns its text; null once
 * `signal` is aborted, or the camera is taken away. The camera is off then, and after an error.
 * Throws what getUserMedia does.
 */
export async function scan(video, signal) {
  const stream = await navigator.mediaDevices.getUserMedia(
    { video: { facingMode: "environment", width: { ideal: 1280 } } });
  const tracks = stream.getTracks();
  try {
    video.muted = video.playsInline = true;
    video.srcObject = stream;
    // A page that is left interrupts it; the loop ends by the signal or the track then.
    video.play().catch(() => null);
    while (!signal?.aborted && tracks.some((track) => track.readyState === "live")) {
      const { videoWidth, videoHeight } = video;
      const text = videoWidth ? await readPicture(video, videoWidth, videoHeight, TIME) : null;
      if (text) return signal?.aborted ? null : text;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
    return null;
  } finally {
    tracks.forEach((track) => track.stop());
    video.srcObject = null;
  }
}
