"""What the three test files share: where the programs are, and the evidence of a module."""

import os
from pathlib import Path

import pytest

from bench import fake_clock
from bench.evidence import Evidence


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return Evidence()


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder with the built programs; without POSTERN_BIN the test is skipped, aloud."""
    folder = os.environ.get("POSTERN_BIN")
    if not folder:
        pytest.skip("POSTERN_BIN is not set: the real programs were not played against")
    return Path(folder).resolve()


def pytest_sessionfinish() -> None:
    fake_clock.sweep()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Shows the programs' own logs beside a failure."""
    report = (yield).get_result()
    if not report.failed:
        return
    for bench in getattr(item, "funcargs", {}).values():
        for title, text in bench.logs() if hasattr(bench, "logs") else ():
            report.sections.append((title, text[-6000:]))


def assert_nothing_leaked(evidence: Evidence) -> None:
    if not evidence.secrets:
        pytest.skip("no other test of this file ran: there is nothing to search for")
    assert evidence.journal, "no MQTT payload was captured"
    assert evidence.search() == []
