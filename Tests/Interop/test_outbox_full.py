"""The real `postern-agent` with a full outbox: what is refused, what waits, what the bus drops."""

import itertools
import json
import os
import signal

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.program import run
from bench.waiting import until
from postern_contract import topics

SMALL = '[outbox]\nmax_bytes = "1 MiB"\n'
LIMIT = 1 << 20
FULL = "not reading the bus: the outbox is full"


@pytest.fixture
def make_full(make_bench):
    """A live board without an uplink, its bus read in large batches, and an app."""
    def make(*bus: str):
        bench = make_bench(
            settings=SMALL, bus=("max_inflight_messages 256", "sys_interval 1", *bus))
        board = bench.live()
        bench.stop_broker()
        until(lambda: bench.status()["uplink"] != "connected", "the uplink to be gone", 60)
        return bench, board, bench.app()

    return make


def payload(number: int, kind: str) -> bytes:
    return f"{kind} {number:06d} ".encode().ljust(1024, b"x")


def burst(bench, app, count: int, start: int = 0) -> dict[bytes, bytes]:
    """Writes that ask for an answer and writes that do not, in turn, while the agent rests.

    Returns the correlation data of the first, by payload.
    """
    asked = {}
    os.kill(bench.agent.pid, signal.SIGSTOP)
    try:
        for number in range(start, start + count):
            if number % 2:
                body = payload(number, "asked")
                asked[body] = app.send(topics.app("thermo", "create", "Reading"), body, wait=False)
            else:
                app.write_silently("Reading", payload(number, "silent"), wait=False)
        app.write_silently("Reading", payload(start + count, "silent"))
    finally:
        os.kill(bench.agent.pid, signal.SIGCONT)
    return asked


def test_full_outbox_refuses_who_asked_and_loses_nothing(make_full):
    bench, board, app = make_full()
    count = 1600
    asked = burst(bench, app, count)
    until(lambda: FULL in bench.agent.log, "reading to stop", 60)
    codes = lambda: [a.get("code") for a in map(app.answer_to, asked.values()) if a]  # noqa: E731
    until(lambda: 140 in codes(), "140 to one who asked", 60)
    status = bench.status()
    assert LIMIT * 0.4 < status["queue"]["bytes"] <= LIMIT
    assert status["queue"]["hoursLeft"] is not None and status["queue"]["oldest"]
    refusal = next(a for a in map(app.answer_to, asked.values()) if a and "code" in a)
    assert (refusal["code"], refusal["rule"]) == (140, "builtin:queue")
    # The rest waits at the local broker, unread and unanswered.
    assert len(codes()) < len(asked)
    held = bench.status()["queue"]["messages"]
    assert held < count * 0.7

    bench.resume_broker(board.iid)
    until(lambda: len(codes()) == len(asked), "each who asked to be answered", 60)
    assert "reading the bus again" in bench.agent.log
    taken = [body for body, key in asked.items() if "seq" in app.answer_to(key)]
    silent = [payload(number, "silent") for number in [*range(0, count, 2), count]]
    expected = set(taken) | set(silent)
    until(lambda: len({m.payload for m in bench.data_heard()} & expected) == len(expected),
          "all that was taken to arrive", 60)
    assert {m.payload for m in bench.data_heard()} == expected
    numbers = [int(m.user["seq"]) for m in bench.data_heard()]
    first = list(dict.fromkeys(numbers))
    assert first == sorted(first) == list(range(first[0], first[0] + len(first)))
    assert bench.status()["gaps"] == 0 and bench.status()["gapRanges"] == []


def test_drops_of_the_local_broker_are_read_and_shown(make_full):
    bench, board, app = make_full("max_queued_messages 50")
    until(lambda: bench.status().get("bus", {}).get("dropped") == 0, "the broker to tell", 60)
    numbers = itertools.count()

    def write(count: int) -> None:
        for number in itertools.islice(numbers, count):
            app.write_silently("Reading", payload(number, "silent"))

    def is_full() -> bool:
        write(50)
        return FULL in bench.agent.log

    # The disk may keep the agent waiting, but not its broker.
    until(is_full, "the outbox to be full", 60)
    # More than the Receive Maximum of the agent and the queue together.
    write(1500)
    until(lambda: bench.status()["bus"]["dropped"] > 100, "the drops to be shown", 60)
    assert bench.status()["bus"]["stored"] > 0
    until(lambda: "the local broker has dropped" in bench.agent.log, "a warning in the log", 60)
    until(lambda: any("bus" in json.loads(m.payload) for m in list(bench.watcher.heard)
                      if m.topic == topics.BUS_HEALTH and m.payload), "health to tell", 60)
    done = run(bench._argv("doctor", "--json"))
    found = {check["id"]: check for check in json.loads(done.stdout)["checks"]}
    assert found["bus-queue"]["result"] == "warning"
    bench.resume_broker(board.iid)
