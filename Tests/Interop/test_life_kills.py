"""SIGKILL at 200 points of a refresh, over a real broker: a working session each time."""

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.house import House, HouseBoard
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import Measure, house, measure  # noqa: F401, fixtures

pytestmark = pytest.mark.slow

SEED = 20261121
BOARDS, KILLS = 5, 40


@pytest.fixture(scope="module")
def house_settings() -> str:
    # A board that starts finds its token spent to a third already, and refreshes at once.
    return 'access = "1s"\n'


class Course:
    """What one board lives through: killed somewhere in a refresh, and looked after."""

    def __init__(self, house: House, board: HouseBoard, number: int):
        self.house = house
        self.board = board
        self.draw = random.Random(SEED * 1000 + number)
        self.session = board.session_id
        self.tally: Counter = Counter()
        self.recovery: list[float] = []
        self.commands: list[subprocess.Popen] = []

    def run(self) -> "Course":
        self.start_span, self.start_pieces = self.measure_start()
        self.refresh_span, self.refresh_pieces = self.measure_refresh()
        for number in range(KILLS):
            before = self.generation()
            kind = self.kill_in_start if number % 2 else self.kill_in_refresh
            where = kind()
            rotated = self.generation() - before
            self.tally[where] += 1
            self.tally["killed after the authority had rotated" if rotated
                       else "killed before the authority rotated"] += 1
            self.come_back(self.generation())
        assert "seq" in self.board.write()
        # It would end with this thread, which is its parent.
        self.board.agent.stop()
        return self

    # Where it is killed.

    def measure_start(self) -> tuple[float, int]:
        """How long a start takes until its refresh is over, and in how many pieces."""
        self.board.agent.kill()
        begun, pieces, before = time.monotonic(), self.board.cable.passed, self.generation()
        self.board.start()
        until(lambda: self.generation() > before, "a refresh after the start", 60)
        return time.monotonic() - begun, self.board.cable.passed - pieces

    def measure_refresh(self) -> tuple[float, int]:
        until(self.has_refreshed, "the refresh of the start to be answered", 60)
        begun, pieces = time.monotonic(), self.board.cable.passed
        until(self.has_refreshed, "a refresh", 60)
        return time.monotonic() - begun, self.board.cable.passed - pieces

    def kill_in_start(self) -> str:
        self.board.agent.kill()
        mark = self.board.cable.passed
        self.board.agent.start()
        return self.kill_somewhere("start", mark, self.start_span, self.start_pieces)

    def kill_in_refresh(self) -> str:
        mark = self.board.cable.passed
        self.commands.append(subprocess.Popen(
            [str(a) for a in self.board._argv("session", "refresh")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return self.kill_somewhere("refresh", mark, self.refresh_span, self.refresh_pieces)

    def kill_somewhere(self, kind: str, mark: int, span: float, pieces: int) -> str:
        """At a random time, after a random piece on the wire, or with what follows it lost."""
        where = self.draw.choice(("by the clock", "after a piece", "with the next piece lost"))
        piece = mark + self.draw.randint(1, max(pieces, 1))
        if where == "by the clock":
            time.sleep(self.draw.uniform(0, 1.2 * span))
        else:
            if where != "after a piece":
                self.board.cable.lose_after(piece)
            self.board.cable.wait_passed(piece, 2 * span)
            time.sleep(self.draw.choice((0.003, 0.02)) * self.draw.random())
        os.kill(self.board.agent.pid, signal.SIGKILL)
        self.board.agent.kill()
        self.board.cable.lose_after(None)
        for command in self.commands:
            command.wait(60)
        self.commands.clear()
        return f"killed in a {kind}, {where}"

    # What must be there afterwards.

    def come_back(self, before: int) -> None:
        """Started again it authenticates, and a following refresh raises the generation."""
        board, mark, begun = self.board, self.board.watcher.mark(), time.monotonic()
        board.start()
        held = board.wait_session("available", since=mark)
        assert held["session"]["objectId"] == self.session
        until(self.has_refreshed, "a refresh after a kill", 60)
        self.recovery.append(time.monotonic() - begun)
        if self.generation() == before:
            # That was the one under way when it was killed, answered as before.
            self.tally["a refresh finished under its old id"] += 1
            until(self.has_refreshed, "a refresh of its own", 60)
        assert self.generation() > before
        assert board.session_now["state"] == "available"

    def has_refreshed(self) -> bool:
        """Status 5 is an uplink that is not there yet; any other refusal is a failure."""
        said = self.board.command("session", "refresh", "--json", ok=(0, 5))
        return json.loads(said)["result"] == "done"

    def generation(self) -> int:
        status, shown = self.house.admin.http("GET", f"/parse/sessions/{self.session}")
        assert (status, shown["state"]) == (200, "active"), shown
        return shown["generation"]


def test_two_hundred_kills_leave_working_sessions(house, measure: Measure):
    names = [f"board {n}" for n in range(BOARDS)]
    boards = house.live_all(dict.fromkeys(names, house.admin))
    courses = [Course(house, boards[name], n) for n, name in enumerate(names)]
    begun = time.monotonic()
    with ThreadPoolExecutor(BOARDS) as workers:
        done = list(workers.map(Course.run, courses))
    measure.tell(f"{BOARDS * KILLS} kills, seed {SEED}", f"{time.monotonic() - begun:.0f} s")
    for where, count in sorted(sum((c.tally for c in done), Counter()).items()):
        measure.tell(where, count)
    times = sorted(t for c in done for t in c.recovery)
    measure.tell("back with a refreshed session, median and longest",
                 f"{times[len(times) // 2]:.2f} s, {times[-1]:.2f} s")
    assert len(times) == BOARDS * KILLS
    assert [e for e in house.audit() if e["event"] == "session.reuse"] == []
    active = [s for s in house.cli_json("sessions", "list")
              if s["state"] == "active" and s["installationId"]]
    assert sorted(s["objectId"] for s in active) == sorted(c.session for c in courses)


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
