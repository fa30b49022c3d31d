"""The authority compares what a board sent with what arrived, and says how much is missing."""

import pytest

from bench.judge import Code, JudgingBroker
from bench.waiting import until
from house_fixtures import house  # noqa: F401, a fixture


@pytest.fixture(scope="module")
def house_settings() -> str:
    return 'heartbeat = "2s"\n'


def _arrival(house, board) -> dict:
    status, live = house.admin.http("GET", f"/postern/v1/boards/{board.iid}/live")
    assert status == 200, live
    return live["arrival"] or {}


def test_what_the_broker_took_and_nobody_heard_is_missing(house):
    """A broker that acknowledges and drops: the connection stands, and nothing arrives."""
    way, board = JudgingBroker(house.port), house.live("leaky")
    board.cable.pull()
    board.cable.target = way.port
    board.cable.plug()
    until(board.is_online, "the board to come by the other way", 60)
    first = board.write()["seq"]
    until(lambda: _arrival(house, board).get("sent") == first, "a heartbeat to tell of it", 60)
    second = board.write()["seq"]
    until(lambda: _arrival(house, board).get("arrived") == second, "the second to arrive", 60)
    way.judge = lambda write: Code(0)
    lost = [board.write()["seq"] for _ in range(3)]
    until(lambda: _arrival(house, board).get("missing") == 3, "three to be missing", 60)
    told = _arrival(house, board)
    assert (told["sent"], told["arrived"]) == (lost[-1], second)
    assert board.status()["lastForwarded"] == board.status()["lastSequence"] == lost[-1]
    way.judge = lambda write: None
    last = board.write()["seq"]
    until(lambda: _arrival(house, board).get("arrived") == last, "the last to arrive", 60)
    assert _arrival(house, board)["missing"] == 0
    way.close()
