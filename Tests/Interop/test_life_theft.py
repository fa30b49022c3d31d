"""A copied state folder: both boards refresh, reuse is found, both stop, the log tells it."""

import json
import re

from bench.house import House, HouseBoard
from bench.state_folder import copy_state
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, house_settings, measure  # noqa: F401, fixtures


def refresh(board: HouseBoard) -> str:
    """What came of a refresh; status 4 is a session that is over."""
    said = board.command("session", "refresh", "--json", ok=(0, 4, 5))
    return json.loads(said)["result"]


def steal(house: House, victim: HouseBoard, name: str) -> HouseBoard:
    """Another machine with the victim's state; both agents are stopped."""
    assert victim.agent.process is None
    thief = house.add_board(name)
    copy_state(victim.folder / "state", thief.folder / "state")
    assert thief.iid == victim.iid
    return thief


def is_over(board: HouseBoard) -> bool:
    now = board.session_now
    return bool(now) and now["state"] == "unavailable"


def assert_stopped(board: HouseBoard) -> None:
    assert board.session_now["code"] == 209
    assert board.write()["code"] == 209


def assert_told(house: House, session: str) -> dict:
    """The audit log has both uses of the token, by request and time, and one ending."""
    [reuse] = house.events("session.reuse", session)
    ids = re.findall(r"request ([0-9a-f-]{36})", reuse["detail"])
    assert len(set(ids)) == 2, reuse["detail"]
    assert len(re.findall(r"\b1\d{9}\b", reuse["detail"])) == 2, reuse["detail"]
    [ended] = house.events("session.ended", session)
    assert ended["detail"] == "reuse"
    assert house.show(session)["state"] == "revoked"
    return reuse


def assert_owner_recovers(house: House, board: HouseBoard, thief: HouseBoard) -> None:
    """The owner pairs anew with the board in hand; the stolen state is worth nothing now."""
    mark = board.watcher.mark()
    board.owner.claim(board.pair("--new")).must_end()
    until(lambda: board.session_now["state"] == "available", "the new session", 60)
    until(lambda: "seq" in board.write(), "writes to be taken again", 60)
    board.wait_settled()
    until(lambda: refresh(board) == "done", "a refresh under the new session", 60)
    board.wait_session("available", since=mark)
    assert is_over(thief)


def test_thief_who_refreshes_first(house, measure):
    victim = house.live("victim of an early thief")
    session = victim.session_id
    victim.agent.stop()
    thief = steal(house, victim, "early thief")
    thief.start()
    until(lambda: refresh(thief) == "done", "the thief's refresh", 60)
    thief.agent.stop()
    mark = victim.watcher.mark()
    victim.start()
    until(lambda: refresh(victim) != "offline", "the victim's refresh to be answered", 60)
    assert victim.wait_session("unavailable", since=mark, timeout=60)["code"] == 209
    mark = thief.watcher.mark()
    thief.start()
    until(lambda: is_over(thief), "the thief to be stopped", 60)
    for board in (victim, thief):
        assert_stopped(board)
    measure.tell("the audit log", assert_told(house, session)["detail"])
    thief.agent.stop()
    assert_owner_recovers(house, victim, thief)


def test_thief_who_comes_late(house):
    victim = house.live("victim of a late thief")
    session = victim.session_id
    victim.agent.stop()
    thief = steal(house, victim, "late thief")
    victim.start()
    for _ in range(2):
        until(lambda: refresh(victim) == "done", "the victim's refresh", 60)
    victim.agent.stop()
    thief.start()
    until(lambda: is_over(thief) or refresh(thief) == "", "the thief to be stopped", 60)
    assert_stopped(thief)
    thief.agent.stop()
    mark = victim.watcher.mark()
    victim.start()
    said = victim.wait_session("unavailable", since=mark, timeout=60)
    assert said["reason"] == "reuse"
    assert_stopped(victim)
    assert_told(house, session)
    assert_owner_recovers(house, victim, thief)


def test_both_at_the_same_time(house):
    """They throw each other off the broker, and still neither keeps the session."""
    victim = house.live("victim side by side")
    session = victim.session_id
    victim.agent.stop()
    thief = steal(house, victim, "thief side by side")
    for board in (victim, thief):
        board.start()

    def both_over() -> bool:
        for board in (victim, thief):
            if not is_over(board):
                refresh(board)
        return is_over(victim) and is_over(thief)

    until(both_over, "both to be stopped", 120)
    for board in (victim, thief):
        assert_stopped(board)
    assert_told(house, session)


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
