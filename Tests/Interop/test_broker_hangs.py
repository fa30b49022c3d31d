"""A broker that hangs: what ends a session is recorded at once, and delivered when it wakes."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from conftest import assert_nothing_leaked
from house_fixtures import Measure, house, house_settings, measure  # noqa: F401, fixtures


@pytest.fixture
def hanging(house):
    """The pid of the embedded broker, which is stopped meanwhile."""
    brokers = [pid for pid in descendants(house.server.pid)
               if Path(f"/proc/{pid}/comm").read_text().strip() == "mosquitto"]
    assert len(brokers) == 1, brokers
    os.kill(brokers[0], signal.SIGSTOP)
    yield brokers[0]
    os.kill(brokers[0], signal.SIGCONT)


def descendants(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").iterdir()
    children = [int(c) for t in threads for c in (t / "children").read_text().split()]
    return children + [d for child in children for d in descendants(child)]


@pytest.fixture(scope="module")
def boards(house):
    return house.live_all({name: house.admin for name in ("shed", "barn", "attic")})


def test_a_revocation_is_recorded_at_once_and_delivered_later(boards, house, hanging, measure):
    board = boards["shed"]
    session, mark = board.session_id, board.watcher.mark()
    began = time.monotonic()
    done = house.admin.cli("sessions", "revoke", "shed", "--json")
    took = time.monotonic() - began
    measure.milliseconds("sessions revoke, while the broker hangs", took)
    # The broker has not gone on yet, so nothing waited for it. How long is a measurement.
    assert done.returncode == 0, done.stderr
    assert "recorded, but not yet delivered" in done.stderr
    assert json.loads(done.stdout)["brokerTold"] is False
    assert house.show(session)["state"] == "revoked"
    os.kill(hanging, signal.SIGCONT)
    assert board.wait_session("unavailable", since=mark, timeout=60)["reason"] == "revoked"


def test_http_and_release_do_not_wait_either(boards, house, hanging):
    marks = {name: boards[name].watcher.mark() for name in ("barn", "attic")}
    answer = house.admin.http("DELETE", f"/postern/v1/sessions/{boards['barn'].session_id}")
    assert answer == (200, {"brokerTold": False})
    assert "not yet delivered" in house.admin.cli("boards", "release", "attic").stderr
    os.kill(hanging, signal.SIGCONT)
    for name, mark in marks.items():
        boards[name].wait_session("unavailable", since=mark, timeout=60)


def test_nothing_leaked(evidence):
    assert_nothing_leaked(evidence)
