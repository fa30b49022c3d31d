"""A real chromium with a profile of its own, as a phone or as a desktop."""

import importlib.resources
import json
import os
import shutil
from pathlib import Path

import pytest
from bench.waiting import until
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

PHONE, DESKTOP = (360, 780), (1280, 800)
SCHEMES = ("light", "dark")
# What the network says of an answer that is an error is no fault of the page: it shows them.
_EXPECTED = ("the server responded with a status of 4", "the server responded with a status of 503",
             "net::ERR_CONNECTION_REFUSED", "net::ERR_INCOMPLETE_CHUNKED_ENCODING")
_TALLEST = 3000


class Browser:
    """Started when made; `close` must be called."""

    def __init__(self, profile: Path, size: tuple[int, int] = PHONE, *arguments: str,
                 language: str = ""):
        """`arguments` are more of chromium's own. `language` is the person's, such as `de-DE`."""
        self.size = size
        self.driver = webdriver.Chrome(
            options=_options(profile, language, *arguments),
            service=Service(_program("chromedriver")))
        self.driver.set_page_load_timeout(30)
        self.driver.set_script_timeout(60)
        self.faults: list[str] = []
        self.base = ""
        self.is_open = True
        self.resize(size)
        self.scheme("light")

    # Where it is and what it looks like.

    def open(self, path: str = "/") -> "Browser":
        """A page anew: nothing of the one before is left in memory."""
        self.collect()
        self.driver.get("about:blank")
        self.driver.get(self.base + path)
        return self

    def go(self, path: str) -> "Browser":
        """As a link would: the page stays if only what is behind `#` differs."""
        self.driver.get(self.base + path)
        return self

    def resize(self, size: tuple[int, int]) -> None:
        self.size = size
        self._metrics(*size)

    def scheme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name},
                    {"name": "prefers-reduced-motion", "value": "reduce"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def shot(self, name: str, whole: bool = True) -> None:
        """A picture of the whole page, or of the window, in the folder for people."""
        folder = screenshots()
        if whole:
            height = self.script("return document.documentElement.scrollHeight")
            self._metrics(self.size[0], min(max(height, self.size[1]), _TALLEST))
        (folder / f"{name}.png").write_bytes(self.driver.get_screenshot_as_png())
        self._metrics(*self.size)

    def _metrics(self, width: int, height: int) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 800})

    # What stands there.

    def find(self, selector: str, words: str = "") -> WebElement | None:
        """The first element that is seen and has these words."""
        try:
            return next((e for e in self.driver.find_elements(By.CSS_SELECTOR, selector)
                         if e.is_displayed() and words in e.text), None)
        except (NoSuchElementException, StaleElementReferenceException):
            return None

    def wait(self, selector: str, words: str = "", timeout: float = 60.0) -> WebElement:
        return until(lambda: self.find(selector, words),
                     f"{selector} with {words!r} at {self.address}", timeout)

    def wait_gone(self, selector: str, timeout: float = 60.0) -> None:
        until(lambda: not self.find(selector), f"{selector} to go", timeout)

    def click(self, selector: str, words: str = "") -> None:
        """The page may put a new element in its place before it is clicked: then that is."""
        def is_clicked() -> bool:
            try:
                element = self.wait(selector, words)
                self.script("arguments[0].scrollIntoView({block: 'center'})", element)
                element.click()
                return True
            except StaleElementReferenceException:
                return False

        until(is_clicked, f"{selector} with {words!r} to be clicked", 60)

    def type(self, selector: str, text: str) -> None:
        element = self.wait(selector)
        element.clear()
        element.send_keys(text)

    def text(self, selector: str = "main", words: str = "", timeout: float = 60.0) -> str:
        """The words of the first element that is seen and has these. The page may put a new element
        in its place meanwhile."""
        def said() -> tuple[str] | None:
            try:
                element = self.find(selector, words)
                return element and (element.text,)
            except StaleElementReferenceException:
                return None

        return until(said, f"{selector} with {words!r} at {self.address}", timeout)[0]

    def script(self, text: str, *arguments):
        return self.driver.execute_script(text, *arguments)

    @property
    def address(self) -> str:
        return self.driver.current_url

    @property
    def focused(self) -> WebElement:
        return self.driver.switch_to.active_element

    def pretend(self, path: str, status: int, body: dict) -> None:
        """From the next page on, requests to this path of the API get this answer."""
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": f"""{{
            const real = window.fetch;
            window.fetch = (url, options) => String(url).endsWith("/postern/v1{path}")
              ? Promise.resolve(new Response({json.dumps(json.dumps(body))}, {{
                  status: {status}, headers: {{ "Content-Type": "application/json" }} }}))
              : real(url, options);
        }}"""})

    def press(self, *keys: str) -> None:
        self.focused.send_keys(*keys)

    # What is wrong with it.

    def collect(self) -> list[str]:
        """Errors and policy violations that the browser has told of since it was started."""
        for entry in self.driver.get_log("browser"):
            text = f"{entry['source']}: {entry['message']}"
            if entry["level"] == "SEVERE" and not (
                    entry["source"] == "network" and any(e in text for e in _EXPECTED)):
                self.faults.append(text)
            elif "Content Security Policy" in text or "TrustedHTML" in text:
                self.faults.append(text)
        return self.faults

    def overflow(self) -> list[str]:
        """What is wider than the window, if the page can be moved sideways."""
        return self.script("""
            const wide = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= wide) return [];
            return [...document.querySelectorAll("body *")]
              .filter(e => e.getBoundingClientRect().right > wide + 1)
              .slice(0, 5).map(e => e.outerHTML.slice(0, 120));
        """)

    def small_targets(self) -> list[str]:
        """Buttons, links that stand alone and fields that a finger would miss: below 44 px."""
        return self.script("""
            const seen = e => e.checkVisibility({ visibilityProperty: true })
              && !e.closest(".hidden") && !e.matches(".skip, .hidden");
            const target = e => e.matches("input[type=radio], input[type=checkbox]")
              ? e.closest("label") ?? e : e.matches("article.board a") ? e.closest("article") : e;
            const inText = e => e.matches("p a, .log a");
            return [...document.querySelectorAll("button, a, input, select, textarea, summary")]
              .filter(e => seen(e) && !inText(e)).map(target)
              .filter(e => e.getBoundingClientRect().height < 44)
              .map(e => `${Math.round(e.getBoundingClientRect().height)} px: ${
                e.outerHTML.slice(0, 100)}`);
        """)

    def accessibility(self) -> list[str]:
        """What axe-core finds, its best practices too."""
        self.collect()
        self.script(_axe())
        found = self.driver.execute_async_script("""
            const done = arguments[arguments.length - 1];
            axe.run(document, { resultTypes: ["violations"] }).then(
              result => done(result.violations.map(v => `${v.id}: ${v.help}: ${
                v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + n.failureSummary)
                  .join(" | ")}`)),
              error => done([`axe failed: ${error.message}`]));
        """)
        # What axe itself makes the browser say is not the page's.
        self.driver.get_log("browser")
        return found

    def close(self) -> None:
        self.is_open = False
        self.driver.quit()


def screenshots() -> Path:
    """The folder for people to look at."""
    here = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("POSTERN_SCREENSHOTS", here / ".build" / "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _axe() -> str:
    return (importlib.resources.files("axe_core_python") / "axe.min.js").read_text()


def _program(name: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed: no browser was tried")
    return found


def _options(profile: Path, language: str, *arguments: str) -> webdriver.ChromeOptions:
    options = webdriver.ChromeOptions()
    options.binary_location = _program("chromium")
    for argument in ("--headless=new", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
                     "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", f"--lang={language or 'en-GB'}", *arguments):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.add_experimental_option("prefs", {
        "credentials_enable_service": False, "profile.password_manager_enabled": False,
        "download.default_directory": str(profile / "downloads"),
        **({"intl.accept_languages": language} if language else {})})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return options
