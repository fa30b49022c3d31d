"""What becomes of a write that the upstream broker refuses, or that ends the connection."""

import json
import random
import time

import pytest

from authority_records import board_rules
from bench.agent_bench import AgentBench
from bench.agent_board import AgentBoard
from bench.judge import Code, End, JudgingBroker
from bench.upstream import Upstream
from bench.waiting import until
from conftest import assert_nothing_leaked

NOT_AUTHORIZED, PACKET_TOO_LARGE, QUOTA_EXCEEDED = 0x87, 0x95, 0x97


class JudgedBench(AgentBench):
    """An agent whose upstream broker answers as the test wants; the authority's does not."""

    def __init__(self, folder, evidence, programs, *, delay: float = 0.0, upstream=(), **options):
        Upstream.__init__(self, folder, evidence)
        if upstream:
            self.broker.stop()
            self.broker.settings += upstream
            self.broker.start()
            for client in ("observer", "authority"):
                sign = f"Sending SUBACK to {client}"
                until(lambda: sign in self.broker.program.log, f"{client} to listen", 20)
        self.way = JudgingBroker(self.port, delay=delay)
        AgentBoard.__init__(self, folder, evidence, programs, self.way.port, **options)

    def close(self) -> None:
        super().close()
        self.way.close()

    def fill(self, count: int, size: int = 64) -> list[int]:
        """The numbers of so many writes, sent without waiting in between."""
        app = self.app("filler")
        sent = [app.send("postern/app/filler/create/Reading", (b"%d " % n).ljust(size, b"."),
                         wait=False) for n in range(count)]
        until(lambda: len(app.link.heard) >= count, f"{count} answers", 60)
        told = {m.correlation: json.loads(m.payload)["seq"] for m in app.link.heard}
        return [told[one] for one in sent]

    def wait_empty(self, timeout: float = 60.0) -> dict:
        return until(lambda: (now := self.status())["queue"]["messages"] == 0 and now,
                     "an empty queue", timeout)

    def arrived(self) -> list[int]:
        return [int(m.user["seq"]) for m in self.data_heard()]


@pytest.fixture
def make(tmp_path, evidence, programs):
    made = []

    def make(name: str = "board", **options) -> JudgedBench:
        folder = tmp_path / name
        folder.mkdir()
        made.append(JudgedBench(folder, evidence, programs, **options))
        return made[-1]

    yield make
    for bench in made:
        bench.close()
    for bench in made:
        bench.assert_conforms()


@pytest.mark.parametrize("code", [0x80, 0x83, QUOTA_EXCEEDED])
def test_a_refusal_for_now_holds_all_and_goes_on_in_order(make, code):
    bench = make()
    board = bench.live()
    given = bench.fill(3)
    bench.wait_empty()
    refused_until = time.monotonic() + 4
    bench.way.judge = lambda write: Code(code) if time.monotonic() < refused_until else None
    mark = len(bench.way.writes)
    held = [bench.app("late").write("Reading", b"%d" % n)["seq"] for n in range(5)]
    until(lambda: "writes are held" in bench.status()["uplink"], "the hold to be said")
    bench.wait_empty()
    assert bench.arrived() == given + held
    # The first of them alone was tried, at growing intervals, until the broker took it.
    tries = [w for w in bench.way.writes[mark:] if w.seq == held[0]]
    assert len(tries) >= 3
    gaps = [b.at - a.at for a, b in zip(tries, tries[1:])]
    assert gaps[0] > 0.9 and all(b > 1.5 * a for a, b in zip(gaps, gaps[1:]))
    assert {w.connection for w in bench.way.writes} == {tries[0].connection}
    assert bench.status()["uplink"] == "connected"


@pytest.mark.parametrize("how", ["PUBACK", "PUBACK, then closed", "DISCONNECT"])
def test_not_authorized_asks_the_authority_and_holds(make, how):
    """The broker may close the connection after such a PUBACK, or in place of one."""
    bench = make()
    board = bench.live()
    forbids = [True]

    def judge(write):
        if not forbids:
            return None
        if how == "DISCONNECT":
            return End(NOT_AUTHORIZED)
        return Code(NOT_AUTHORIZED, closes=how != "PUBACK")

    bench.way.judge = judge
    mark = bench.authority.mark()
    held = [bench.app().write("Reading", b"%d" % n)["seq"] for n in range(5)]
    begun = time.monotonic()
    bench.authority.wait_request("session.authenticate", since=mark, timeout=5)
    assert time.monotonic() - begun < 3
    said = until(lambda: (s := bench.status())["uplink"] != "connected" and s, "the hold")
    assert "does not let this board publish" in said["uplink"]
    until(lambda: len([w for w in bench.way.writes if w.seq == held[0]]) >= 3,
          "the broker to be tried again", 60)
    assert bench.arrived() == []
    forbids.clear()
    bench.wait_empty(90)
    assert bench.arrived() == held


def test_mosquittos_own_refusal_holds_until_its_rules_allow_again(make):
    """The real broker's access list takes the board's right to publish data, and gives it back."""
    bench = make()
    board = bench.live()
    first = bench.app().write("Reading", b"first")["seq"]
    bench.wait_empty()
    mark = bench.authority.mark()
    bench.access.set_rules(board.iid, board_rules(board.iid)[:3])
    held = [bench.app().write("Reading", b"%d" % n)["seq"] for n in range(3)]
    bench.authority.wait_request("session.authenticate", since=mark, timeout=10)
    until(lambda: "does not let this board publish" in bench.status()["uplink"], "the hold")
    assert bench.arrived() == [first]
    bench.access.set_rules(board.iid, board_rules(board.iid))
    bench.wait_empty(90)
    assert bench.arrived() == [first, *held]
    assert_buried(bench, {})


def test_a_session_that_is_over_ends_the_hold(make):
    """The broker forbids because the session is gone, and the authority says so."""
    bench = make()
    board = bench.live()
    bench.way.judge = lambda write: Code(NOT_AUTHORIZED)
    bench.authority.script("session.authenticate", {"error": {"code": 209, "error": "over"}})
    bench.app().write("Reading", b"1")
    bench.wait_session("unavailable")
    assert bench.status()["queue"]["messages"] == 1
    assert board


def test_a_message_that_is_too_large_is_a_dead_letter_and_later_ones_arrive(make):
    bench = make(upstream=("max_packet_size 20000",))
    bench.live()
    first = bench.app().write("Reading", b"1")["seq"]
    large = bench.app().write("Reading", b"x" * 30_000)["seq"]
    last = bench.app().write("Reading", b"2")["seq"]
    bench.wait_empty()
    assert bench.arrived() == [first, last]
    assert_buried(bench, {large: "larger than the 20000 bytes"})


@pytest.mark.parametrize("code", [0x90, PACKET_TOO_LARGE, 0x99])
def test_a_message_that_is_never_taken_is_a_dead_letter(make, code):
    bench = make()
    bench.live()
    bench.way.judge = lambda write: Code(code) if b"bad" in write.payload else None
    given = [bench.app().write("Reading", b"bad" if n == 2 else b"good")["seq"] for n in range(5)]
    bench.wait_empty()
    assert bench.arrived() == given[:2] + given[3:]
    assert_buried(bench, {given[2]: "the broker refused it"})


@pytest.mark.parametrize("end", [End(), End(code=PACKET_TOO_LARGE)], ids=["closed", "told"])
def test_a_message_that_ends_the_connection_is_a_dead_letter(make, end):
    bench = make()
    board = bench.live()
    bench.way.judge = lambda write: end if b"poison" in write.payload else None
    given = [bench.app().write("Reading", b"poison" if n == 7 else b"%d" % n)["seq"]
             for n in range(12)]
    bench.wait_empty(120)
    assert sorted(set(bench.arrived())) == given[:7] + given[8:]
    assert bench.arrived() == sorted(bench.arrived())
    assert_buried(bench, {given[7]: "ended 3 connections in a row"})
    assert board


@pytest.mark.parametrize("how", [End(reset=True), End(reset=True, late=True)],
                         ids=["on the way there", "on the way back"])
def test_a_connection_that_is_reset_makes_no_dead_letter(make, how):
    """Even where it is reset at one write alone, again and again."""
    bench = make()
    bench.live()
    seen = []
    bench.way.judge = lambda write: seen.append(write.connection) or (
        how if len(set(seen)) <= 5 else None)
    given = bench.fill(5)
    bench.wait_empty(120)
    assert len(set(seen)) == 6
    assert sorted(set(bench.arrived())) == given
    assert_buried(bench, {})


def test_a_network_that_drops_makes_no_dead_letter(make):
    """In order, and in place of one PUBACK in four, whatever that acknowledges."""
    bench = make()
    bench.live()
    chance, begun = random.Random(20261121), time.monotonic()
    bench.way.lose = lambda: End() if (
        time.monotonic() - begun < 30 and chance.random() < 0.25) else None
    given = bench.fill(60)
    bench.wait_empty(120)
    assert bench.way.connections > 4
    assert sorted(set(bench.arrived())) == given
    assert_buried(bench, {})


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


def assert_buried(bench, expected: dict[int, str]) -> None:
    shown = json.loads(bench.command("queue", "show", "--dead", "--json", ok=(0, 3)))
    found = {letter["seq"]: letter["reason"] for letter in shown["deadLetters"]}
    assert found.keys() == expected.keys()
    for seq, words in expected.items():
        assert words in found[seq]


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
