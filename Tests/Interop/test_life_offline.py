"""A board without its network: what it goes on doing, and how it hears that all is over."""

import json
import time

import pytest

from bench.house import House, HouseBoard
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, measure  # noqa: F401, fixtures
from postern_contract import topics

# Longer than a busy machine lets the programs stand still.
GRACE = 12
SHORT = f'[session]\noffline = "{GRACE}s"\n'


@pytest.fixture(scope="module")
def house_settings() -> str:
    # Beats often enough that the short grace never ends while the network is there.
    return 'heartbeat = "1s"\n'


def arrived(house: House, board: HouseBoard) -> dict[int, bytes]:
    """The payloads by their numbers, in the order of arrival. QoS 1 may bring one twice."""
    found: dict[int, bytes] = {}
    for message in house.data(board):
        found.setdefault(int(message.user["seq"]), message.payload)
    return found


def wait_no_answer(board: HouseBoard, correlation: bytes, mark: int) -> None:
    """Until the agent has had every chance: it says its health, and answers nothing."""
    until(lambda: "not reading the bus" in board.agent.log, "the agent to stop reading", 60)
    assert board.thermo.answer_to(correlation) is None
    assert board.watcher.since(mark)


def test_within_its_grace_it_judges_and_keeps(house):
    house.consumer
    board = house.live("patient", policy='[[rule]]\nclass = "Reading"\nallow = ["create"]\n')
    before = board.generation
    board.cable.pull()
    kept = {b"kept %d" % n for n in range(20)}
    given = [board.write(payload)["seq"] for payload in sorted(kept)]
    assert board.thermo.write("Reading", b"{}", op="delete", object_id="a")["code"] == 119
    assert board.thermo.write("_User")["code"] == 119
    assert board.session_now["state"] == "available"
    assert house.data(board) == []
    board.cable.plug()
    house.wait_data(board, kept, 60)
    assert list(arrived(house, board)) == given == sorted(set(given))
    until(board.is_online, "the board to be back", 60)
    assert board.generation == before, "coming back alone is no reason to refresh"


def test_after_its_grace_writes_wait_at_the_bus(house, measure):
    house.consumer
    board = house.live("short-winded", settings=SHORT)
    session = board.session_id
    assert "seq" in board.write(b"online")
    house.wait_data(board, {b"online"})
    mark = board.watcher.mark()
    board.cable.pull()
    pulled = time.monotonic()
    assert "seq" in board.write(b"in grace")
    notice = board.wait_notice("unavailable", since=mark, timeout=60)
    said = json.loads(notice.payload)
    assert said["reason"] == "offline"
    measure.tell(f"grace of {GRACE} s: postern/session said offline after",
                 f"{notice.at - pulled:.1f} s")
    late = {b"late %d" % n for n in range(30)}
    mark = board.watcher.mark()
    asked = {payload: board.thermo.send(topics.app("thermo", "create", "Reading"), payload)
             for payload in sorted(late)}
    wait_no_answer(board, list(asked.values())[0], mark)
    assert list(arrived(house, board).values()) == [b"online"]
    mark = board.watcher.mark()
    board.cable.plug()
    back = board.wait_session("available", since=mark, timeout=60)
    assert back["session"]["objectId"] == session
    house.wait_data(board, late | {b"in grace"}, 60)
    until(lambda: None not in [board.thermo.answer_to(c) for c in asked.values()],
          "each late write to be answered", 60)
    answers = [board.thermo.answer_to(correlation)["seq"] for correlation in asked.values()]
    came = arrived(house, board)
    assert list(came) == sorted(came) and answers == sorted(answers)
    assert list(came.values()) == [b"online", b"in grace", *asked]


def test_authoritys_own_outage_is_an_outage_too(house):
    """Broker and authority go together here; the board loses nothing and comes back."""
    board = house.live("left alone")
    consumer = house.consumer
    house.server.stop()
    until(lambda: not consumer.is_up, "the consumer to lose its broker", 60)
    kept = {b"alone %d" % n for n in range(10)}
    for payload in sorted(kept):
        assert "seq" in board.write(payload)
    # What comes before its reader is back, nobody keeps: the board waits for it here.
    board.cable.pull()
    house.start()
    consumer.wait_back(60)
    board.cable.plug()
    house.wait_data(board, kept, 60)
    until(board.is_online, "the board to be back", 60)
    assert board.session_now["state"] == "available"


# Endings that an offline board hears of late.


def test_revoked_while_it_was_off(house):
    board = house.live("switched off")
    session = board.session_id
    board.agent.stop()
    house.revoke(session)
    mark = board.watcher.mark()
    board.start()
    said = board.wait_session("unavailable", since=mark, timeout=60)
    assert (said["reason"], said["code"]) == ("revoked", 209)
    assert board.write()["code"] == 209
    house.wait_event("session.farewell", session, 60)


def test_revoked_while_its_cable_was_out(house, measure):
    board = house.live("cut off")
    session = board.session_id
    board.cable.pull()
    assert "seq" in board.write(b"not yet told")
    house.revoke(session)
    assert "seq" in board.write(b"still not told")
    mark = board.watcher.mark()
    board.cable.plug()
    plugged = time.monotonic()
    notice = board.wait_notice("unavailable", since=mark, timeout=60)
    measure.tell("cable back to 209", f"{notice.at - plugged:.1f} s")
    assert json.loads(notice.payload)["reason"] == "revoked"
    assert board.write()["code"] == 209
    house.wait_event("session.farewell", session, 60)
    assert house.data(board) == [], "what a revoked session accepted stays on its board"


def test_revoked_and_never_reached_again(house):
    board = house.live("out of reach", settings=SHORT)
    mark = board.watcher.mark()
    board.cable.pull()
    house.revoke(board.session_id)
    said = board.wait_session("unavailable", since=mark, timeout=60)
    assert said["reason"] == "offline"
    correlation = board.thermo.send(topics.app("thermo", "create", "Reading"), b"{}")
    wait_no_answer(board, correlation, mark)
    mark = board.watcher.mark()
    board.cable.plug()
    until(lambda: board.session_now.get("reason") == "revoked", "the revocation", 60)
    until(lambda: board.thermo.answer_to(correlation), "the write that waited to be answered",
          60)
    assert board.thermo.answer_to(correlation)["code"] == 209


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
