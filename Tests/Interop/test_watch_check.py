"""`postern watch --check` beside a real board, authority and broker: complete is said only if so."""

import json
import os
import signal
from pathlib import Path

from bench.program import Program
from bench.waiting import until
from house_fixtures import house, house_settings  # noqa: F401, fixtures


def start(house, board) -> Program:
    program = Program(f"watch-{board.name}", house.admin._argv(
        "watch", "--check", "--json", "--board", board.iid), house.folder).start()
    program.wait_ready(lambda: "watching" in program.log, "to watch", 60)
    return program


def has_read(program: Program, port: int) -> bool:
    """Whether nothing waits for it on its connection to this port. Source: proc(5), net/tcp."""
    sockets = {os.readlink(each) for each in Path(f"/proc/{program.pid}/fd").iterdir()}
    rows = [line.split() for line in Path(f"/proc/{program.pid}/net/tcp").read_text().splitlines()]
    waiting = [row[4].partition(":")[2] for row in rows[1:]
               if row[2].endswith(f":{port:04X}") and f"socket:[{row[9]}]" in sockets]
    return waiting == ["00000000"]


def end(program: Program) -> tuple[int, list[dict]]:
    """Its exit status after a ^C, and the lines of its result."""
    os.kill(program.pid, signal.SIGINT)
    until(lambda: not program.is_running, "the watch to end", 60)
    lines = [json.loads(line) for line in program.out.read_text().splitlines()]
    return program.process.returncode, lines


def test_outage_and_kill_leave_a_board_complete(house):
    board = house.live("proven")
    program = start(house, board)
    try:
        written = 0
        for trouble in (None, "outage", "kill"):
            if trouble == "outage":
                board.cable.pull()
            elif trouble == "kill":
                board.agent.kill()
                board.start()
            for _ in range(40):
                assert "seq" in board.write(b"n%d" % written)
                written += 1
            if trouble == "outage":
                board.cable.plug()
        # A consumer of the bench's own would take over the watch's login.
        until(lambda: board.is_online() and board.status()["queue"]["messages"] == 0,
              "all to leave", 60)
        until(lambda: has_read(program, house.port), "the watch to have read it all", 60)
        status, lines = end(program)
    finally:
        program.close()
    summary = lines[-1]
    assert (summary["type"], summary["installationId"]) == ("summary", board.iid)
    assert (summary["missing"], summary["reordered"], summary["conflict"]) == (0, 0, 0), lines
    assert summary["last"] - summary["first"] + 1 == written
    assert summary["messages"] == written + summary["repeat"]
    assert summary["complete"] is True and status == 0
    lag = summary["lagMilliseconds"]
    assert -1000 < lag["min"] <= lag["p50"] <= lag["max"] < 120_000 and lag["last"] <= lag["max"]


def test_watch_that_sees_nothing_says_so(house):
    board = house.live("silent")
    program = start(house, board)
    try:
        status, lines = end(program)
    finally:
        program.close()
    assert (status, lines) == (3, [])
    assert "nothing was checked" in program.log
