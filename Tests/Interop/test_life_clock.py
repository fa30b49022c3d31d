"""A board whose clock is wrong: nothing is locked out, and nothing expired is honoured."""

import json
import time

import pytest

from bench.fake_clock import FakeClock
from bench.house import House, HouseBoard
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, measure  # noqa: F401, fixtures

pytestmark = pytest.mark.slow

EPOCH, DECADE = "@1970-01-01 00:00:10", 3650 * 86_400
WRONG = {"1970": EPOCH, "ten years slow": f"-{DECADE}", "ten minutes fast": "+600",
         "ten minutes slow": "-600", "ten years fast": f"+{DECADE}"}


@pytest.fixture(scope="module")
def house_settings() -> str:
    return 'heartbeat = "1s"\n'


@pytest.fixture
def clock(tmp_path) -> FakeClock:
    return FakeClock(tmp_path / "clock")


def beats(house: House, board: HouseBoard) -> None:
    """The authority hears the board once more, and a refresh rotates its token."""
    session = board.session_id
    seen = house.show(session)["lastSeen"]
    until(lambda: house.show(session)["lastSeen"] > seen, "a heartbeat", 60)
    before = house.show(session)["generation"]
    until(lambda: refreshed(board), "a refresh", 60)
    assert house.show(session)["generation"] > before
    assert abs(board.session_now["validatedAt"] - time.time()) < 60


def refreshed(board: HouseBoard) -> bool:
    return json.loads(board.command("session", "refresh", "--json", ok=(0, 5)))["result"] == "done"


@pytest.mark.parametrize("wrong", [w for w in WRONG if w != "ten years fast"])
def test_board_with_a_wrong_clock_is_claimed_and_lives(house, clock, wrong):
    clock.says(WRONG[wrong])
    board = house.live(f"claimed at {wrong}", agent_env=clock.environment)
    beats(house, board)
    assert "seq" in board.write()


def test_board_ten_years_fast_is_claimed_once_its_clock_is_right(house, clock):
    """Nobody has told it the time yet, so a provisioning looks expired to it; its claim URL
    is as good as before."""
    clock.says(WRONG["ten years fast"])
    board = house.add_board("far ahead", agent_env=clock.environment)
    url = board.pair()
    board.start()
    assert "expired" in house.admin.claim(url).must_fail()
    clock.says("+0")
    house.admin.claim(url).must_end()
    board.wait_settled()
    beats(house, board)


@pytest.mark.parametrize("wrong", WRONG)
def test_board_that_wakes_with_a_wrong_clock_keeps_its_session(house, clock, wrong):
    """Cold, without network: only a clock that may be right can say that time is over."""
    board = house.live(f"woken at {wrong}", agent_env=clock.environment)
    board.agent.stop()
    board.cable.pull()
    clock.says(WRONG[wrong])
    mark = board.watcher.mark()
    board.start()
    if wrong == "ten years fast":
        assert board.wait_session("unavailable", since=mark)["reason"] == "expired"
        assert board.write()["code"] == 209
    else:
        board.wait_session("available", since=mark)
        assert "seq" in board.write()
    mark = board.watcher.mark()
    board.cable.plug()
    if wrong == "ten years fast":
        board.wait_session("available", since=mark, timeout=60)
    beats(house, board)
    assert "seq" in board.write()


def test_clock_that_jumps_while_the_agent_runs_changes_nothing(house, clock, measure):
    board = house.live("jumping", agent_env=clock.environment)
    mark = board.watcher.mark()
    for jump in (f"+{DECADE}", f"-{DECADE}", EPOCH, "+600", "-600", "+0"):
        clock.says(jump)
        beats(house, board)
        assert "seq" in board.write()
    said = [m for m in board.watcher.since(mark, "postern/session")]
    assert all(json.loads(m.payload)["state"] == "available" for m in said)
    measure.tell("postern/session said during six jumps", len(said))


def test_expired_session_is_not_honoured_by_a_clock_turned_back(house, clock):
    """The floor is the highest time that the authority told: below it no clock is believed,
    and what the authority ended stays ended at its next word."""
    board = house.live("turned back", agent_env=clock.environment)
    board.agent.stop()
    house.revoke(board.session_id)
    clock.says(f"-{DECADE}")
    mark = board.watcher.mark()
    board.start()
    assert board.wait_session("unavailable", since=mark, timeout=60)["code"] == 209
    assert board.write()["code"] == 209


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
