"""A browser that reads pictures by the console's own modules, under the console's own policy."""

import base64
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = Path(__file__).resolve().parent.parent.parent
CONSOLE = ROOT / "Provisioning" / "console"
PAGE = """<!doctype html><meta charset="utf-8"><title>codes</title>
<video id="video" width="320"></video><script type="module" src="/probe.js"></script>"""
PROBE = """
import { readQRCode } from "/console/qr.js";
import { hasCamera, scan } from "/console/qr-camera.js";
const video = document.querySelector("video");
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(event.violatedDirective + " " + event.blockedURI);
});
window.read = async (encoded) => {
  const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
  const start = performance.now();
  try {
    return { text: await readQRCode(new Blob([bytes])), ms: performance.now() - start };
  } catch (error) {
    return { error: String(error), ms: performance.now() - start };
  }
};
window.scan = async (change) => {
  const stop = new AbortController();
  window.seen = null;
  const look = setInterval(() => {
    if (!video.srcObject || !video.videoWidth) return;
    window.seen ??= video.srcObject;
    if (change === "abort") stop.abort();
    if (change === "unplug") window.seen.getTracks().forEach((track) => track.stop());
  }, 100);
  const result = { hasCamera };
  try {
    result.text = await scan(video, stop.signal);
  } catch (error) {
    result.error = error.name;
  }
  clearInterval(look);
  result.live = (window.seen?.getTracks() ?? []).filter((track) => track.readyState === "live");
  result.live = result.live.length;
  result.shown = Boolean(video.srcObject);
  return result;
};
window.ready = true;
"""


def policy() -> str:
    """The Content-Security-Policy that the authority sends with the page, as its source has it."""
    source = (ROOT / "Sources" / "Console" / "StaticFiles.swift").read_text()
    listed = re.search(r"static let policy = \[(.*?)\]", source, re.DOTALL)
    return "; ".join(re.findall(r'"([^"]+)"', listed.group(1)))


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.removeprefix("/console/")
        if self.path == "/":
            self.answer("text/html", PAGE.encode())
        elif self.path == "/probe.js":
            self.answer("text/javascript", PROBE.encode())
        elif re.fullmatch(r"qr[a-z-]*\.js", name):
            self.answer("text/javascript", (CONSOLE / name).read_bytes())
        else:
            self.send_error(404)

    def answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Security-Policy", policy())
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@dataclass
class Reading:
    """What came of one picture."""

    text: str | None
    error: str | None
    ms: float


class Reader:
    """A page that is open in a browser."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def read(self, file: bytes) -> Reading:
        """What the page makes of a picture's file."""
        done = self.asynchronously("window.read(arguments[0])", base64.b64encode(file).decode())
        return Reading(done.get("text"), done.get("error"), done["ms"])

    def asynchronously(self, expression: str, *values: object) -> dict:
        """What a promise comes to."""
        return self.driver.execute_async_script(
            f"const done = arguments[arguments.length - 1]; {expression}.then(done);", *values)

    def script(self, text: str) -> object:
        return self.driver.execute_script(text)


@contextmanager
def page(*flags: str) -> Iterator[Reader]:
    """The page in a headless browser with these flags; both end with the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", *flags):
        options.add_argument(f"--{flag}")
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        driver.set_script_timeout(60)
        driver.get(f"http://127.0.0.1:{server.server_address[1]}/")
        driver.execute_async_script(
            "const done = arguments[0]; const wait = () => window.ready ? done() "
            ": setTimeout(wait, 20); wait();")
        yield Reader(driver)
    finally:
        driver.quit()
        server.shutdown()
        server.server_close()
