"""A vault that is damaged, shortened or gone is never taken for a first start."""

import json
from pathlib import Path

import pytest

from bench.house import HouseBoard
from bench.state_folder import flip, shorten
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, house_settings  # noqa: F401, fixtures
from postern_contract import topics

pytestmark = pytest.mark.slow

def flipped(state: Path) -> None:
    flip(state / "vault")


def shortened(share: float):
    return lambda state: shorten(state / "vault", share)


def gone(state: Path) -> None:
    (state / "vault").unlink()


def cut(board: HouseBoard) -> None:
    """Off and unplugged, and the bus forgets what it was told."""
    board.agent.kill()
    board.cable.pull()
    for topic in (topics.BUS_SESSION, "postern/health"):
        board.watcher.publish(topic, b"", retain=True)


def says_degraded(board: HouseBoard, mark: int) -> None:
    def is_degraded(message) -> bool:
        return (message.topic == "postern/health" and bool(message.payload)
                and json.loads(message.payload).get("degraded") is True)

    board.watcher.wait(is_degraded, "health to say degraded", since=mark, timeout=60)


@pytest.mark.parametrize("name, damage", [
    ("flipped", flipped), ("halved", shortened(0.5)), ("empty", shortened(0)), ("gone", gone),
])
def test_loss_holds_writes_until_the_same_user_pairs_again(house, name, damage):
    board = house.live(f"lost {name}")
    iid, session = board.iid, board.session_id
    assert "seq" in board.write()
    cut(board)
    damage(board.folder / "state")
    mark = board.watcher.mark()
    board.start()
    said = board.wait_session("unavailable", since=mark)
    assert (said["reason"], said["code"], said["final"]) == ("unreadable", 209, False)
    says_degraded(board, mark)
    status = board.status()
    assert status["degraded"] and status["installationId"] == iid
    # Neither accepted nor refused, and kept over a restart.
    held = [board.thermo.send(topics.app("thermo", "create", "Reading"), b'{"celsius":1}')]
    board.agent.kill()
    mark = board.watcher.mark()
    board.start()
    assert board.wait_session("unavailable", since=mark)["reason"] == "unreadable"
    held.append(board.thermo.send(topics.app("thermo", "create", "Reading"), b'{"celsius":2}'))
    mark = board.watcher.mark()
    board.cable.plug()
    # The broker login is lost with it. The authority keeps the login while the session lives,
    # and then until the board has answered, which this board cannot.
    house.revoke(session)
    board.owner.must("boards", "forget-revocation", board.iid)
    url = board.pair("--new")
    assert [board.thermo.answer_to(one) for one in held] == [None, None]
    board.owner.claim(url).must_end()
    board.wait_session("available", since=mark, timeout=60)
    for one in held:
        until(lambda: board.thermo.answer_to(one), "what was held to be answered", 60)
        assert "seq" in board.thermo.answer_to(one)
    assert "seq" in board.write()
    status = board.status()
    assert status["installationId"] == iid and not status["degraded"]


def test_first_start_is_no_loss(house):
    board = house.add_board("first")
    board.cable.pull()
    mark = board.watcher.mark()
    board.start()
    said = board.wait_session("unavailable", since=mark)
    assert (said["reason"], said["code"]) == ("unclaimed", 206) and "final" not in said
    assert board.write()["code"] == 206
    assert not board.status()["degraded"]


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
