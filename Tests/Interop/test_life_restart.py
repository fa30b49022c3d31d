"""What a board says when it starts and there is no network: from its vault alone."""

import json
import time

import pytest

from bench.fake_clock import FakeClock
from bench.house import HouseBoard
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, house_settings, measure  # noqa: F401, fixtures
from postern_contract import topics


def cold(board: HouseBoard) -> HouseBoard:
    """Off, unplugged, and forgotten by the bus: nothing but its files is left of it."""
    board.agent.kill()
    board.cable.pull()
    for topic in (topics.BUS_SESSION, "postern/health"):
        board.watcher.publish(topic, b"", retain=True)
    return board


def test_session_is_published_before_any_network(house, measure):
    board = cold(house.live("cold"))
    took = []
    for _ in range(5):
        mark, begun = board.watcher.mark(), time.monotonic()
        board.start()
        notice = board.wait_notice("available", since=mark)
        took.append(notice.at - begun)
        said = json.loads(notice.payload)
        assert isinstance(said["validatedAt"], int)
        assert abs(said["validatedAt"] - time.time()) < 60
        assert "seq" in board.write()
        assert not board.is_online()
        cold(board)
    took.sort()
    measure.milliseconds("start to session published, median of 5", took[2])
    assert json.dumps(said).count("oken") == 0


def test_expired_vault_says_so(house, tmp_path):
    """Only a clock can tell without network, so its clock is set past the session's end."""
    clock = FakeClock(tmp_path / "clock")
    board = cold(house.live("overslept", "--duration", "10m", agent_env=clock.environment))
    clock.says("+1200")
    mark = board.watcher.mark()
    board.start()
    said = board.wait_session("unavailable", since=mark)
    assert (said["reason"], said["code"]) == ("expired", 209)
    assert board.write()["code"] == 209
    # The clock was wrong, as the authority tells it: nothing was destroyed.
    mark = board.watcher.mark()
    board.cable.plug()
    board.wait_session("available", since=mark, timeout=60)
    assert "seq" in board.write()


def test_board_without_a_vault_says_how_to_pair(house):
    board = house.add_board("new")
    board.cable.pull()
    mark = board.watcher.mark()
    board.start()
    said = board.wait_session("unavailable", since=mark)
    assert (said["reason"], said["code"]) == ("unclaimed", 206)
    assert "postern-agent pair" in board.agent.log
    assert board.write()["code"] == 206


def test_ended_session_stays_ended(house):
    board = house.live("ended")
    mark = board.watcher.mark()
    house.revoke(board.session_id)
    board.wait_session("unavailable", since=mark)
    cold(board)
    mark = board.watcher.mark()
    board.start()
    said = board.wait_session("unavailable", since=mark)
    assert (said["reason"], said["code"]) == ("revoked", 209)


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
