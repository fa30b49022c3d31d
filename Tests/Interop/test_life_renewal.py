"""A board whose session expired is renewed from afar; one that was revoked is not."""

import json

import pytest

from bench.house import House, HouseBoard, Person
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, measure  # noqa: F401, fixtures
from postern_contract import topics

pytestmark = pytest.mark.slow

HOUR = 3600


@pytest.fixture(scope="module")
def house_settings() -> str:
    # A session that is an hour older than it was made ends at once.
    return 'absolute = "30m"\nheartbeat = "1s"\n'


@pytest.fixture(scope="module")
def owner(house) -> Person:
    return house.user("cleo", "--claim")


def hold(board: HouseBoard, count: int) -> tuple[list[bytes], list[int]]:
    """Writes that the board accepts and cannot send: it is off afterwards."""
    board.cable.pull()
    held = [b"%s %02d" % (board.name.encode(), n) for n in range(count)]
    given = [board.write(payload)["seq"] for payload in held]
    board.agent.stop()
    return held, given


def expire(house: House, board: HouseBoard) -> str:
    """Ends the board's session by the authority's limit while the board is off."""
    session = board.session_id
    consumer = house.consumer
    house.server.stop()
    until(lambda: not consumer.is_up, "the consumer to lose its broker", 60)
    house.age(session, HOUR)
    house.start()
    # What a board sends before that is not heard.
    consumer.wait_back()
    until(lambda: row(house, board)["sessionEnd"] == "expired", "the session to expire", 60)
    until(lambda: may_publish(house, board) == {"outbox", "status"},
          "the board's role to shrink", 60)
    return session


def row(house: House, board: HouseBoard) -> dict:
    boards = house.cli_json("boards", "list", "--everyone")
    return next(b for b in boards if b["installationId"] == board.iid)


def may_publish(house: House, board: HouseBoard) -> set[str]:
    """What the broker lets the board publish, below its own topic."""
    state = json.loads(house.broker_state.read_text())
    assert any(c["username"] == board.iid for c in state["clients"])
    role = next(r for r in state["roles"] if r["rolename"] == f"board-{board.iid}")
    prefix = f"{topics.ROOT}/{board.iid}/"
    return {acl["topic"].removeprefix(prefix) for acl in role["acls"]
            if acl["acltype"] == "publishClientSend" and acl["allow"]}


def come_back(board: HouseBoard) -> None:
    mark = board.watcher.mark()
    board.cable.plug()
    board.start()
    assert board.wait_session("unavailable", since=mark, timeout=60)["reason"] == "expired"


def test_held_writes_leave_after_a_renewal_from_afar(house, owner):
    house.consumer
    board = house.live("in the barn", owner=owner)
    held, given = hold(board, 12)
    old = expire(house, board)
    come_back(board)
    until(lambda: board.status()["uplink"] == "connected", "the expired board to connect", 60)
    assert board.write(b"too late")["code"] == 209
    text = board.command("status", ok=(3, 4, 5))
    assert "boards renew" in text, text
    # A board that was off keeps all it needs.
    board.agent.stop()
    board.start()
    until(lambda: board.status()["uplink"] == "connected", "the board to be back", 60)
    assert board.status()["queue"]["messages"] == len(held)
    assert house.data(board) == []
    mark = board.watcher.mark()
    done = json.loads(owner.must("boards", "renew", board.iid, "--json"))
    assert done["state"] == "accepted" and done["renewal"] is True
    said = board.wait_session("available", since=mark, timeout=60)["session"]
    assert said["objectId"] == done["sessionId"] != old
    house.wait_data(board, set(held), 60)
    # QoS 1 may bring one twice.
    arrived = dict.fromkeys((int(m.user["seq"]), m.payload) for m in house.data(board))
    assert list(arrived) == list(zip(given, held))
    assert "seq" in board.write(b"under the new session")
    house.wait_data(board, {b"under the new session"})
    assert row(house, board)["sessionEnd"] is None
    assert may_publish(house, board) >= {"data/#"}


def test_renewal_waits_for_a_board_that_is_away(house, owner):
    board = house.live("away", owner=owner)
    hold(board, 1)
    expire(house, board)
    done = owner.cli("boards", "renew", board.iid, "--wait", "1s", "--json")
    assert done.returncode == 5 and "when it is online" in done.stderr, done.stderr
    claim = json.loads(done.stdout)
    assert row(house, board)["renewal"] == claim["claimId"]
    twice = owner.cli("boards", "renew", board.iid)
    assert twice.returncode == 2 and "a renewal waits" in twice.stderr, twice.stderr
    owner.must("boards", "end-claim", claim["claimId"])
    assert row(house, board)["renewable"]
    owner.cli("boards", "renew", board.iid, "--wait", "0s")
    mark = board.watcher.mark()
    board.cable.plug()
    board.start()
    until(lambda: board.session_now["state"] == "available" and board.is_online()
          and row(house, board)["sessionState"] == "active", "the renewed board", 60)
    assert mark is not None and "seq" in board.write(b"renewed")


def test_nobody_else_renews_and_a_revocation_blocks(house, owner):
    stranger = house.user("eve", "--claim")
    board = house.live("stolen", owner=owner)
    board.agent.stop()
    session = expire(house, board)
    status, error = stranger.http("POST", f"/postern/v1/boards/{board.iid}/renew", {})
    assert (status, error["code"]) == (404, 101)
    owner.must("sessions", "revoke", session)
    refused = owner.cli("boards", "renew", board.iid)
    assert refused.returncode == 2 and "postern-agent pair" in refused.stderr, refused.stderr
    board.start()
    until(lambda: board.session_now.get("reason") == "revoked", "the board to hear of it", 60)
    text = board.command("status", ok=(3, 4, 5))
    assert "sudo postern-agent pair" in text and "renew" not in text, text
    until(lambda: row(house, board)["status"] == "down", "the board's login to go", 60)


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
