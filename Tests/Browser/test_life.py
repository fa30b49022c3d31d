"""The life of a session on the page: its end is announced, seen, and undone by one tap."""

import pytest

from bench.evidence import Evidence
from bench.house import House
from bench.waiting import until
from visitor import everybody, wait_board

HOUR, DAY = 3600, 86_400


@pytest.fixture(scope="module")
def house(tmp_path_factory, programs):
    """A house where a session ends eight days after it was made."""
    house = House(tmp_path_factory.mktemp("house"), Evidence(), programs,
                  'absolute = "8d"\nidle = "30d"\nheartbeat = "1s"\n')
    yield house
    house.close()


def grow_old(house, board, seconds: int) -> None:
    session = board.session_id
    house.server.stop()
    house.age(session, seconds)
    house.start()


def test_an_end_is_announced_before_it_comes(house, phone):
    board = house.live("in the barn")
    grow_old(house, board, DAY + HOUR)
    phone.log_in()
    phone.open_board(board)
    phone.browser.wait(".notice", "The session ends in 7 days.")
    phone.browser.wait(".alerts", "The session of in the barn ends in 7 days")
    phone.browser.shot("phone-board-ends-soon")


def test_an_expired_board_is_renewed_by_one_tap(house, phone):
    board = house.live("far away")
    board.cable.pull()
    held = board.write(b'{"celsius":21.5}')["seq"]
    grow_old(house, board, 9 * DAY)
    wait_board(house, board, sessionEnd="expired")
    mark = board.watcher.mark()
    board.cable.plug()
    board.wait_session("unavailable", since=mark, timeout=60)
    phone.log_in()
    phone.open_board(board)
    phone.browser.wait(".notice", "The board keeps what its programs send")
    phone.browser.shot("phone-board-expired")
    phone.browser.click("#renew")
    phone.confirm("Renew")
    phone.browser.wait_gone("#renew", timeout=60)
    wait_board(house, board, sessionState="active")
    house.consumer
    until(lambda: board.status()["queue"]["messages"] == 0, "the held write to leave", 60)
    assert held == 1


def test_a_sign_out_that_the_broker_has_not_heard_says_so(house, phone):
    board = house.live("left alone")
    phone.browser.pretend(f"/sessions/{board.session_id}", 200, {"brokerTold": False})
    phone.log_in()
    phone.open_board(board)
    phone.end("#sign-out")
    phone.confirm("Sign out")
    phone.browser.wait("[role=status]", "recorded, but not yet delivered")
    assert everybody(house)[board.iid]["sessionState"] == "active", "nothing was really asked"
