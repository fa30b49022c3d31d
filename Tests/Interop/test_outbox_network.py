"""What a network that drops costs, and a slow way upstream."""

import random
import time

import pytest

from bench.judge import Code, End, Silence
from bench.waiting import until
from conftest import assert_nothing_leaked
from outbox_fixtures import make  # noqa: F401, a fixture

pytestmark = pytest.mark.slow

QUOTA_EXCEEDED = 0x97


def test_a_network_that_drops_makes_no_dead_letter(make):
    """In order, and in place of one PUBACK in four, whatever that acknowledges."""
    bench = make()
    bench.live()
    chance, begun = random.Random(20261121), time.monotonic()
    bench.way.lose = lambda: End() if (
        time.monotonic() - begun < 30 and chance.random() < 0.25) else None
    given = bench.fill(60)
    bench.wait_empty(240)
    assert bench.way.connections > 4
    assert sorted(set(bench.arrived())) == given
    bench.assert_buried({})


def test_an_acknowledgement_that_comes_with_the_end_is_booked(make):
    """The PUBACK and the end of the connection in one go: that write is not sent again."""
    bench = make()
    bench.live()
    taken = []

    def judge(write):
        if taken:
            return None
        taken.append(write.seq)
        return Code(0, closes=True)

    bench.way.judge = judge
    given = bench.fill(5)
    bench.wait_empty()
    assert bench.way.seqs().count(taken[0]) == 1
    # The broker's stand-in kept it to itself.
    assert sorted(set(bench.arrived())) == [seq for seq in given if seq not in taken]


def test_a_write_that_alone_has_no_acknowledgement_is_sent_again(make):
    """The connection stands and others are acknowledged: after a minute the agent connects anew."""
    bench = make()
    bench.live()
    first: list[int] = []
    lost: list[int] = []

    def judge(write):
        # The first write of a connection leaves alone, so nothing would overtake it.
        first.append(write.seq)
        if lost or write.seq == first[0]:
            return None
        lost.append(write.seq)
        return Silence()

    bench.way.judge = judge
    app, before, given = bench.app(), bench.way.connections, []
    end = time.monotonic() + 120
    while bench.way.connections == before and time.monotonic() < end:
        given.append(app.write("Reading", b'{"celsius":20.5}')["seq"])
        time.sleep(1)
    bench.wait_empty()
    assert sorted(set(bench.arrived())) == given and bench.way.seqs().count(lost[0]) == 2
    assert f"no PUBACK for write {lost[0]} in 60 s, and " in bench.agent.log
    bench.assert_buried({})


def test_a_connection_that_carries_nothing_is_made_again(make):
    """A write waits for a sign of life that is never acknowledged: nothing is in flight."""
    bench = make()
    bench.live()
    # Two connections that end at a write: then each has to carry something else first.
    ends = [End(), End()]

    def judge(write):
        if ends:
            bench.way.loses_status = len(ends) == 1
            return ends.pop()
        return None

    bench.way.judge = judge
    given = bench.fill(1)
    text = "upstream: MQTT: writes wait, and none was sent in 60 s"
    until(lambda: text in bench.agent.log, "the connection to be given up", 120)
    queue = bench.status()["queue"]
    assert queue["messages"] == 1 and queue["oldestAge"] >= 60
    assert bench.way.seqs().count(given[0]) == 2
    bench.way.loses_status = False
    bench.wait_empty()
    assert bench.arrived() == given
    bench.assert_buried({})


def test_a_cut_network_does_not_bring_a_board_to_3_1_1(make):
    """A hang-up before CONNACK is one of a broker that lacks MQTT 5, until it has spoken it."""
    bench = make()
    bench.way.hang_ups = 1
    bench.live()
    assert bench.way.versions[:2] == [5, 4]
    for hang_ups in (0, 1, 3):
        bench.agent.stop()
        before = len(bench.way.versions)
        bench.way.hang_ups = hang_ups
        bench.agent.start()
        given = bench.fill(1)
        bench.wait_empty()
        assert bench.way.versions[before:] == [5] * (hang_ups + 1)
        assert bench.arrived()[-1:] == given


def test_the_window_grows_on_a_slow_way(make, record_property, capsys):
    """100 ms each way: the adaptive window beside a broker that allows 100 in flight."""
    count, rates = 8000, {}
    for name, limit in (("fixed", 100), ("adaptive", 5000)):
        bench = make(name, upstream=(f"max_inflight_messages {limit}",))
        bench.live()
        bench.way.delay = 0.1
        # All of it is queued before any of it leaves: the way out is what is measured.
        gate = [True]
        bench.way.judge = lambda write: Code(QUOTA_EXCEEDED) if gate else None
        given = bench.fill(count, 100)
        gate.clear()
        until(lambda: len(bench.data_heard()) >= count, "all to arrive", 90)
        assert bench.arrived() == given
        arrived, most = bench.data_heard(), bench.way.most_in_flight
        rates[name] = (count - 1) / (arrived[-1].at - arrived[0].at)
        assert most <= 100 if name == "fixed" else 300 < most <= 2000, most
        with capsys.disabled():
            print(f"\n  100 ms each way, {name}: {rates[name]:.0f} writes/s, {most} in flight")
        bench.close()
    record_property("rates", rates)


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
