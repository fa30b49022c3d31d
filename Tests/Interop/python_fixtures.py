"""What the tests of the libraries for apps share: a board as it is shipped."""

import json
import os
from pathlib import Path

import pytest

from bench.cable import Cable
from bench.program import Program
from bench.shipped_board import ShippedBoard
from bench.waiting import until

DEVICES = Path(__file__).resolve().parents[2] / "Devices"
LIBRARY = DEVICES / "python"

DENIES = """\
default = "deny"
[[rule]]
class = "Reading"
allow = ["create"]
fields = { celsius = "number(-60..125)" }
"""

ALLOWS = 'default = "allow"\n'
ONE_AN_HOUR = ALLOWS + '[app.thermo]\nrate = "1/h"\nburst = 1\n'


@pytest.fixture
def board(tmp_path, evidence, programs):
    board = ShippedBoard(tmp_path, evidence, programs, "thermo")
    yield board
    board.close()
    board.assert_conforms()


@pytest.fixture
def login(board) -> dict:
    """How an app reaches this board's bus."""
    return {"bus": f"unix:{board.bus.socket}", "password": board.bus.passwords["thermo"]}


@pytest.fixture
def credentials(login, tmp_path) -> Path:
    """A folder with the app's password, as systemd makes one."""
    folder = tmp_path / "credentials"
    folder.mkdir()
    password = folder / "thermo.password"
    password.write_text(login["password"] + "\n")
    password.chmod(0o400)
    return folder


@pytest.fixture
def cable(board):
    """Between the program and this board's bus."""
    cable = Cable(board.bus.port)
    yield cable
    cable.pull()


def set_policy(board: ShippedBoard, text: str) -> None:
    """At once, so that the agent never reads a part of it."""
    new = board.config / "policy.new"
    new.write_text(text)
    new.chmod(0o640)
    new.replace(board.config / "policy.toml")


def lose_numbers(board: ShippedBoard, cable: Cable, claim_url: str) -> None:
    """Has the agent refuse a write that waits for a session, then take it, and loses the number."""
    until(lambda: any(b'"code":206' in m.payload for m in board.watcher.heard
                      if m.topic.startswith("postern/app/thermo/answers")), "a refusal", 60)
    cable.loses = b'"seq"'
    board.authority.wait_live(board.authority.claim(claim_url))
    # The second is the answer to a try that was made when the refusal had been heard.
    until(lambda: cable.lost >= 2, "two numbers to be lost", 60)


def records(board: ShippedBoard) -> list[tuple[int, dict]]:
    """What arrived upstream, in order. A message of QoS 1 that came twice is one record."""
    found = {(int(m.user["seq"]), m.payload) for m in board.data_heard()}
    return sorted((seq, json.loads(payload)) for seq, payload in found)


def write_through_kills(board: ShippedBoard, app: Program, notes: Path, end: Path) -> None:
    """Kills agent, bus and app in turn, POSTERN_KILLS times, and checks that each write of the app
    is one record. The app notes in `notes` the number of each write and the answer, goes on behind
    them when it starts again, and ends when there is a file `end`."""
    notes.touch()
    app.start()

    def given() -> list[tuple[int, int]]:
        return [tuple(map(int, line.split())) for line in notes.read_text().splitlines()]

    def go_on(count: int) -> None:
        before = len(given())
        until(lambda: len(given()) >= before + count, f"{count} writes\n{app.log}", 120)

    kills = int(os.environ.get("POSTERN_KILLS", "9"))
    starts = [(board.agent, board.start), (board.bus.program, board.bus.start), (app, app.start)]
    try:
        for number in range(kills):
            program, start = starts[number % 3]
            # Another moment of a write each time.
            go_on(1 + number // 3 % 4)
            program.kill()
            start()
        go_on(3)
        end.touch()
        until(lambda: not app.is_running, "the app to end", 120)
    finally:
        app.close()
    until(lambda: len(records(board)) >= len(given()), "all upstream", 120)
    assert records(board) == sorted((seq, {"n": n}) for n, seq in given())
    assert [n for n, _ in given()] == list(range(len(given())))
    print(f"{kills} kills, {len(given())} writes, each of them one record")
