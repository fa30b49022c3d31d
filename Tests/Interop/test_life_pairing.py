"""One session for a board: claimed again by the same user, by another, and after a release."""

import json

import pytest

from bench.evidence import content
from bench.house import House, HouseBoard, Person
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, house_settings, measure  # noqa: F401, fixtures
from postern_contract import topics

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def people(house) -> dict[str, Person]:
    return {name: house.user(name, "--claim") for name in ("cleo", "dora")}


def hold(house: House, board: HouseBoard, count: int) -> set[bytes]:
    """Ends the session while writes wait for the network: they are held from then on."""
    board.cable.pull()
    held = {b"%s %d" % (board.name.encode(), n) for n in range(count)}
    for payload in sorted(held):
        assert "seq" in board.write(payload)
    house.revoke(board.session_id)
    mark = board.watcher.mark()
    board.cable.plug()
    board.wait_session("unavailable", since=mark, timeout=60)
    assert board.status()["queue"]["messages"] == count
    return held


def active_sessions(house: House, board: HouseBoard) -> list[str]:
    sessions = house.cli_json("sessions", "list", "--everyone")
    return [s["objectId"] for s in sessions
            if s["installationId"] == board.iid and s["state"] == "active"]


def new_session(board: HouseBoard, old: str | None, mark: int) -> dict:
    """What the bus says first of a session other than the old one, which may be told until then."""
    def says(message) -> bool:
        body = json.loads(message.payload or b"{}") if message.topic == topics.BUS_SESSION else {}
        return body.get("session", {}).get("objectId", old) != old

    found = board.watcher.wait(says, "a new session on the bus", since=mark, timeout=60)
    return json.loads(found.payload)


def claim_again(board: HouseBoard, owner: Person) -> dict:
    """With a fresh secret, as somebody with the board in hand may."""
    old, mark = board.session_now.get("session", {}).get("objectId"), board.watcher.mark()
    owner.claim(board.pair("--new")).must_end()
    said = new_session(board, old, mark)
    until(lambda: board.session_now["state"] == "available" and board.is_online(),
          "the board to be online under its new session", 60)
    return said


def test_all_stays_as_it_was_until_the_board_accepts(house, people):
    board = house.live("waiting", owner=people["cleo"])
    old = board.session_id
    url = board.pair("--new")
    board.cable.pull()
    claim = people["cleo"].claim(url)
    until(lambda: "sealed and sent" in claim.program.log, "the provisioning to be sent", 60)
    assert active_sessions(house, board) == [old]
    assert board.session_id == old and "seq" in board.write(b"meanwhile")
    assert people["dora"].claim(url).must_fail(), "a second claim while one is open"
    mark = board.watcher.mark()
    board.cable.plug()
    claim.must_end()
    new = new_session(board, old, mark)["session"]["objectId"]
    assert active_sessions(house, board) == [new]
    assert house.show(old)["state"] == "revoked"
    house.consumer
    assert "seq" in board.write(b"afterwards")
    house.wait_data(board, {b"afterwards"})


def test_claim_url_serves_once(house, people):
    board = house.add_board("once")
    url = board.pair()
    board.start()
    people["cleo"].claim(url).must_end()
    board.wait_settled()
    session = board.session_id
    for name in ("cleo", "dora"):
        assert "pair --new" in people[name].claim(url).must_fail()
    assert active_sessions(house, board) == [session]
    assert board.command("pair", "--json", ok=(2,)) == "", "a claimed board shows no code unasked"


def test_same_user_gets_the_queue_that_was_held(house, people, measure):
    house.consumer
    board = house.live("kept", owner=people["cleo"])
    old = board.session_id
    held = hold(house, board, 8)
    new = claim_again(board, people["cleo"])["session"]["objectId"]
    house.wait_data(board, held, 60)
    arrived = [m for m in house.data(board) if m.payload in held]
    assert {m.user["sid"] for m in arrived} == {old}, "each is bound to the session it was taken by"
    # QoS 1 may bring one twice.
    numbers = list(dict.fromkeys(int(m.user["seq"]) for m in arrived))
    assert numbers == sorted(numbers) and len(numbers) == len(held)
    assert active_sessions(house, board) == [new]
    until(lambda: board.status()["queue"]["messages"] == 0, "the queue to be empty", 60)


def assert_destroyed(house: House, board: HouseBoard, owner: Person, held: set[bytes]) -> None:
    """Nothing of the old user's is left on the board or comes upstream under the new one."""
    assert "claimed by another user" in board.agent.log
    assert board.status()["queue"]["messages"] == 0
    assert board.status()["user"]["username"] == owner.name
    assert "seq" in board.write(b"of the new user")
    house.wait_data(board, {b"of the new user"})
    assert not held & {m.payload for m in house.data(board)}
    assert not any(payload in content(path) for payload in held
                   for path in (board.folder / "state").rglob("*") if path.is_file())


def test_another_user_after_a_release_gets_an_empty_board(house, people):
    house.consumer
    board = house.live("given away", owner=people["cleo"])
    held = hold(house, board, 5)
    people["cleo"].must("boards", "release", board.iid)
    claim_again(board, people["dora"])
    assert_destroyed(house, board, people["dora"], held)
    assert board.iid not in people["cleo"].must("boards", "list", "--json")


def test_another_user_with_the_board_in_hand_gets_an_empty_board(house, people):
    """Only an administrator may do so unless the owner released the board. Nobody revoked anything:
    the old user's session ends with the new one's acceptance."""
    house.consumer
    board = house.live("taken over", owner=people["cleo"])
    old = board.session_id
    assert "another user owns" in people["dora"].claim(board.pair("--new")).must_fail()
    said = claim_again(board, house.admin)
    assert_destroyed(house, board, house.admin, set())
    assert active_sessions(house, board) == [said["session"]["objectId"]]
    status, shown = people["cleo"].http("GET", f"/parse/sessions/{old}")
    assert (status, shown["code"]) == (404, 101)
    assert people["cleo"].cli("sessions", "revoke", said["session"]["objectId"]).returncode != 0


def test_an_old_claim_url_keeps_no_board_from_its_revocation(house, people):
    board = house.live("silenced", owner=people["cleo"])
    old = board.pair("--new")
    board.pair("--new")
    board.agent.stop()
    house.revoke(board.session_id)
    assert "another user owns" in people["dora"].claim(old).must_fail()
    assert json.loads(people["dora"].must("boards", "claims", "--json")) == []
    # Even the owner's own claim, which the board cannot open, leaves the login as it is.
    claim = people["cleo"].claim(old)
    until(lambda: "sealed and sent" in claim.program.log, "the provisioning to be sent", 60)
    assert "has not answered its revocation" in claim.program.log
    mark = board.watcher.mark()
    board.start()
    said = board.wait_session("unavailable", since=mark, timeout=60)
    assert (said["reason"], said["code"]) == ("revoked", 209)
    [waiting] = json.loads(people["cleo"].must("boards", "claims", "--json"))
    assert waiting["installationId"] == board.iid and waiting["claimant"] == "cleo"
    people["cleo"].must("boards", "end-claim", waiting["claimId"])
    assert "cancelled" in claim.must_fail()
    assert json.loads(people["cleo"].must("boards", "claims", "--json")) == []


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
