"""What the tests of the console share: a house with real programs, and browsers to visit it."""

import os
import tempfile
from pathlib import Path

import pytest

from bench.evidence import Evidence
from bench.house import House
from browser import DESKTOP, PHONE, Browser
from visitor import Visitor


@pytest.fixture(scope="session", autouse=True)
def leavings():
    """A folder for what a browser leaves behind; a short name, since it has sockets there."""
    with tempfile.TemporaryDirectory(prefix="pb-", ignore_cleanup_errors=True) as folder:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TMPDIR", folder)
            yield


@pytest.fixture(scope="module")
def programs() -> Path:
    """The folder with the built programs; without POSTERN_BIN the test is skipped, aloud."""
    folder = os.environ.get("POSTERN_BIN")
    if not folder:
        pytest.skip("POSTERN_BIN is not set: the real programs were not visited")
    return Path(folder).resolve()


@pytest.fixture(scope="module")
def house(tmp_path_factory, programs):
    """One authority with its broker for the whole file; boards come as a test wants them."""
    house = House(tmp_path_factory.mktemp("house"), Evidence(), programs)
    yield house
    house.close()


@pytest.fixture
def visit(house, tmp_path):
    """Makes visitors with browsers of their own, and holds their pages to account after."""
    made: list[Browser] = []

    def make(size: tuple[int, int] = PHONE, profile: str = "", language: str = "") -> Visitor:
        browser = Browser(tmp_path / (profile or f"profile-{len(made)}"), size, language=language)
        browser.base = f"http://127.0.0.1:{house.http_port}"
        made.append(browser)
        return Visitor(house, browser)

    yield make
    faults = [fault for browser in made for fault in browser.faults]
    for browser in made:
        if browser.is_open:
            faults += [fault for fault in browser.collect() if fault not in faults]
            browser.close()
    assert faults == [], "the browser's own log"


@pytest.fixture
def phone(visit) -> Visitor:
    return visit(PHONE)


@pytest.fixture
def desktop(visit) -> Visitor:
    return visit(DESKTOP)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Shows the programs' own logs beside a failure."""
    report = (yield).get_result()
    house = getattr(item, "funcargs", {}).get("house")
    if report.failed and house:
        report.sections += [(title, text[-4000:]) for title, text in house.logs()]
