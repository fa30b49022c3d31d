// Reads a code with the camera, if the browser can read codes by itself.
// Source: wicg.github.io/shape-detection-api.

/** Milliseconds between two attempts to read. */
const PAUSE = 200;

/** Whether this browser reads codes and may use a camera; without TLS no page may. */
export async function canScan() {
  if (!navigator.mediaDevices?.getUserMedia || !("BarcodeDetector" in globalThis)) return false;
  return (await BarcodeDetector.getSupportedFormats()).includes("qr_code");
}

/**
 * Shows the camera in a video element until a code is read, and returns its text; null once
 * `signal` is aborted, or the camera is taken away. The camera is off then, and after an error.
 * Throws what getUserMedia and BarcodeDetector do.
 */
export async function scan(video, signal) {
  const detector = new BarcodeDetector({ formats: ["qr_code"] });
  const stream = await navigator.mediaDevices.getUserMedia(
    { video: { facingMode: "environment", width: { ideal: 1280 } } });
  const tracks = stream.getTracks();
  try {
    video.muted = video.playsInline = true;
    video.srcObject = stream;
    // Leaving the page interrupts it. Then the signal or the track ends the loop.
    video.play().catch(() => null);
    while (!signal.aborted && tracks.some((track) => track.readyState === "live")) {
      const [code] = video.videoWidth ? await detector.detect(video) : [];
      if (code) return signal.aborted ? null : code.rawValue;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
    return null;
  } finally {
    tracks.forEach((track) => track.stop());
    video.srcObject = null;
  }
}
