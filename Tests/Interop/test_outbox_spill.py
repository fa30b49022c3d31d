"""`outbox.durability = "spill"`: nothing on the disk while the upstream broker keeps up."""

import os
import random
import secrets
import signal
import time
from collections import defaultdict

import pytest

from agent_fixtures import make_bench  # noqa: F401, fixture
from bench.waiting import until
from postern_contract import topics

pytestmark = pytest.mark.slow

SPILL = '[outbox]\ndurability = "spill"\n'
SEED = 20261121


@pytest.fixture
def bench(make_bench):
    return make_bench(settings=SPILL)


def disk(bench) -> list[tuple[str, int, int]]:
    """Each file in the state folder with its size and the time of its last change."""
    found = sorted((bench.folder / "state").rglob("*"))
    return [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in found]


def wait_left(bench) -> None:
    """Until nothing waits: then nothing is on its way to the disk."""
    until(lambda: bench.status()["queue"]["messages"] == 0, "the queue to be empty", 60)


def by_payload(bench) -> dict[bytes, set[int]]:
    seqs = defaultdict(set)
    for message in bench.data_heard():
        seqs[message.payload].add(int(message.user["seq"]))
    return seqs


def test_touches_no_disk_while_the_broker_acknowledges(bench):
    board = bench.live()
    app = bench.app()
    app.write("Reading", b"first: the sequences are reserved with it")
    wait_left(bench)
    before = disk(bench)
    given, slowest = [], 0.0
    for n in range(200):
        began = time.monotonic()
        given.append(app.write("Reading", b"n%d" % n)["seq"])
        slowest = max(slowest, time.monotonic() - began)
    assert given == list(range(given[0], given[0] + 200))
    # On a machine that is too busy some take longer than the agent's patience.
    assert disk(bench) == before or slowest > 0.05
    for n in range(200):
        bench.wait_data(board, b"n%d" % n)
    wait_left(bench)


def test_writes_to_disk_what_the_broker_is_slow_with(bench):
    board = bench.live()
    app = bench.app()
    app.write("Reading", b"before")
    wait_left(bench)
    before = disk(bench)
    pid = bench.broker.program.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        correlations = [
            app.send(f"postern/app/{app.name}/create/Reading", b"slow%d" % n) for n in range(5)
        ]
        until(lambda: all(app.answer_to(c) for c in correlations),
              "an answer although the broker does not", 60)
        assert disk(bench) != before
    finally:
        os.kill(pid, signal.SIGCONT)
    for n in range(5):
        bench.wait_data(board, b"slow%d" % n)


def test_a_stop_leaves_nothing_out_and_no_gap(bench):
    board = bench.live()
    app = bench.app()
    last = [app.write("Reading", b"a%d" % n)["seq"] for n in range(5)][-1]
    assert bench.agent.stop(timeout=60) == 0
    assert not (bench.folder / "run" / "window").exists()
    bench.start()
    assert app.write("Reading", b"after")["seq"] == last + 1
    bench.wait_data(board, b"after")
    assert bench.status()["gaps"] == 0


def test_a_kill_loses_nothing_and_gives_no_write_two_numbers(bench):
    board = bench.live()
    app = bench.app()
    draw = random.Random(SEED)
    sent: list[tuple[bytes, bytes]] = []
    for life in range(8):
        for n in range(40):
            payload = b"life %d, write %d" % (life, n)
            topic = f"postern/app/{app.name}/create/Reading"
            sent.append((app.send(topic, payload, wait=False), payload))
            if n % 10 == 9:
                time.sleep(draw.uniform(0, 0.02))
        if life % 2:
            # Held at the moment of the kill: the broker has not answered.
            os.kill(bench.broker.program.pid, signal.SIGSTOP)
            app.send(f"postern/app/{app.name}/create/Reading", b"held %d" % life, wait=False)
            time.sleep(draw.uniform(0, 0.06))
            bench.agent.kill()
            os.kill(bench.broker.program.pid, signal.SIGCONT)
        else:
            time.sleep(draw.uniform(0, 0.05))
            bench.agent.kill()
        bench.start()
        bench.wait_session("available", since=0)
    last = app.write("Reading", b"the last")
    bench.wait_data(board, b"the last", timeout=60)
    until(lambda: all(app.answer_to(c) for c, _ in sent), "all to be answered", 60)
    until(lambda: set(by_payload(bench)) >= {p for _, p in sent}, "all to arrive", 60)
    arrived = by_payload(bench)
    answers = {payload: app.answer_to(c)["seq"] for c, payload in sent}
    for payload, seqs in arrived.items():
        assert len(seqs) == 1, f"{payload!r} has the numbers {seqs}"
        if payload in answers:
            assert seqs == {answers[payload]}
    numbers = sorted(s for seqs in arrived.values() for s in seqs)
    assert len(numbers) == len(set(numbers)), "two writes share a number"
    assert numbers[-1] == last["seq"]
    # The numbers that a crash took are announced, and no others are missing.
    missing = set(range(numbers[0], numbers[-1])) - set(numbers)
    assert bench.status()["gaps"] >= len(missing)


def test_a_power_cut_announces_what_it_may_have_taken(bench):
    board = bench.live()
    app = bench.app()
    window = bench.folder / "run" / "window"
    first = 0

    def is_held_in_memory() -> bool:
        nonlocal first
        first = app.write("Reading", b"before")["seq"]
        return window.exists()

    # While the broker is slow, a write goes to disk.
    until(is_held_in_memory, "a write that only memory has", 60)
    bench.agent.kill()
    # Memory is empty after a power cut; the disk is as it was.
    window.unlink()
    bench.start()
    after = app.write("Reading", b"after")["seq"]
    bench.wait_data(board, b"after")
    assert after > first + 1
    assert bench.status()["gaps"] >= after - first - 1


def send_unacknowledged(app, payload: bytes) -> bytes:
    """A write at QoS 0, which no broker repeats; its answer bears the returned correlation."""
    correlation = secrets.token_bytes(12)
    app.link.publish(
        topics.app(app.name, "create", "Reading"), payload, qos=0,
        response_topic=topics.app(app.name, "answers"), correlation=correlation)
    return correlation


@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
def test_no_number_is_given_twice_to_what_no_broker_repeats(bench, is_killed):
    bench.live()
    app = bench.app()
    # In one read of the agent's: a write that may be held, and others behind it.
    os.kill(bench.agent.pid, signal.SIGSTOP)
    first = app.send(topics.app(app.name, "create", "Reading"), b"repeated", wait=False)
    others = [send_unacknowledged(app, b"%d" % n) for n in range(5)]
    time.sleep(0.3)
    os.kill(bench.agent.pid, signal.SIGCONT)
    until(lambda: all(app.answer_to(c) for c in [first, *others]), "answers", 60)
    given = {app.answer_to(c)["seq"] for c in [first, *others]}
    if is_killed:
        bench.agent.kill()
    else:
        assert bench.agent.stop(timeout=60) == 0
    bench.start()
    again = [send_unacknowledged(app, b"again %d" % n) for n in range(5)]
    until(lambda: all(app.answer_to(c) for c in again), "answers", 60)
    assert not given & {app.answer_to(c)["seq"] for c in again}
