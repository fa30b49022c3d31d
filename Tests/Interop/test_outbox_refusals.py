"""What becomes of a write that the upstream broker refuses."""

import pytest

from authority_records import board_rules
from bench.judge import Code, End
from bench.waiting import until
from conftest import assert_nothing_leaked
from outbox_fixtures import make  # noqa: F401, a fixture

NOT_AUTHORIZED, PACKET_TOO_LARGE, QUOTA_EXCEEDED = 0x87, 0x95, 0x97
FORBIDDEN = "does not let this board publish"


@pytest.mark.parametrize("code", [0x80, 0x83, QUOTA_EXCEEDED])
def test_a_refusal_for_now_holds_all_and_goes_on_in_order(make, code):
    bench = make()
    board = bench.live()
    given = bench.fill(3)
    bench.wait_empty()
    refuses = [True]
    bench.way.judge = lambda write: Code(code) if refuses else None
    mark = len(bench.way.writes)
    held = [bench.app("late").write("Reading", b"%d" % n)["seq"] for n in range(5)]

    def tries() -> list:
        return [w for w in bench.way.writes[mark:] if w.seq == held[0]]

    until(lambda: "writes are held" in bench.status()["uplink"], "the hold to be said", 60)
    until(lambda: len(tries()) >= 3, "the broker to be tried again", 60)
    refuses.clear()
    bench.wait_empty()
    assert bench.arrived() == given + held
    # The first of them alone was tried, at growing intervals, until the broker took it.
    gaps = [b.at - a.at for a, b in zip(tries(), tries()[1:])]
    assert all(gap > 0.5 * 2 ** n for n, gap in enumerate(gaps))
    assert {w.connection for w in bench.way.writes} == {tries()[0].connection}
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
    bench.authority.wait_request("session.authenticate", since=mark, timeout=60)
    until(lambda: FORBIDDEN in bench.status()["uplink"], "the hold", 60)
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
    bench.authority.wait_request("session.authenticate", since=mark, timeout=60)
    until(lambda: FORBIDDEN in bench.status()["uplink"], "the hold", 60)
    assert bench.arrived() == [first]
    bench.access.set_rules(board.iid, board_rules(board.iid))
    bench.wait_empty(90)
    assert bench.arrived() == [first, *held]
    bench.assert_buried({})


def test_a_session_that_is_over_ends_the_hold(make):
    """The broker forbids because the session is gone, and the authority says so."""
    bench = make()
    board = bench.live()
    bench.way.judge = lambda write: Code(NOT_AUTHORIZED)
    bench.authority.script("session.authenticate", {"error": {"code": 209, "error": "over"}})
    bench.app().write("Reading", b"1")
    bench.wait_session("unavailable", timeout=60)
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
    bench.assert_buried({large: "larger than the 20000 bytes"})


@pytest.mark.parametrize("code", [0x90, PACKET_TOO_LARGE, 0x99])
def test_a_message_that_is_never_taken_is_a_dead_letter(make, code):
    bench = make()
    bench.live()
    bench.way.judge = lambda write: Code(code) if b"bad" in write.payload else None
    given = [bench.app().write("Reading", b"bad" if n == 2 else b"good")["seq"] for n in range(5)]
    bench.wait_empty()
    assert bench.arrived() == given[:2] + given[3:]
    bench.assert_buried({given[2]: "the broker refused it"})


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
