"""The ways in which a session ends, each with a real board that is online: 209 at once."""

import json

import pytest

from bench.ending import Ending, ending_by
from bench.house import House, HouseBoard
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import Measure, house, house_settings, measure  # noqa: F401, fixtures

WAYS = ("one-of-them", "all-of-a-user", "new-password", "disabled-user", "own-sign-out",
        "release", "sign-out-on-the-board")


@pytest.fixture(scope="module")
def boards(house) -> dict[str, HouseBoard]:
    """A board for each way, with an owner of its own."""
    return house.live_all({name: house.user(name, "--claim") for name in WAYS})


def end(house: House, board: HouseBoard, measure: Measure, action, title: str) -> Ending:
    """One ending: 209 on the bus at once, and the board's session over from then on."""
    session, mark = board.session_id, board.watcher.mark()
    assert "seq" in board.write()
    found = ending_by(board.thermo, action)
    measure.milliseconds(f"{title}: first 209 after the command began", found.after_begun)
    measure.milliseconds(f"{title}: first 209 after the authority's answer", found.after_answer)
    assert found.accepted_late == 0
    notice = board.wait_session("unavailable", since=mark)
    assert notice["code"] == 209
    until(lambda: house.show(session)["state"] == "revoked", "the authority to have it", 60)
    shown = json.loads(board.command("session", "show", "--json", ok=(4,)))
    assert (shown["state"], shown["code"]) == ("unavailable", 209)
    return found


def is_gone_at_the_broker(house: House, board: HouseBoard) -> bool:
    """Whether the broker would let nobody in by this board's name, whatever the password."""
    boards = json.loads(house.broker_state.read_text())["clients"]
    return all(client["username"] != board.iid for client in boards)


def assert_farewell(house: House, board: HouseBoard, session: str) -> None:
    """The board took leave, and was then removed at the broker."""
    house.wait_event("session.farewell", session, 60)
    until(lambda: "Not authorized" in board.agent.log, "the broker to let the board in no more",
          60)
    until(lambda: is_gone_at_the_broker(house, board), "the board to be gone at the broker", 60)


def revocation(house: House, board: HouseBoard, measure: Measure, title: str, action) -> None:
    session, mark = board.session_id, board.watcher.mark()
    end(house, board, measure, action, title)
    assert board.wait_session("unavailable", since=mark)["reason"] == "revoked"
    assert_farewell(house, board, session)


def test_revoking_one(house, boards, measure):
    board = boards["one-of-them"]
    revocation(house, board, measure, "sessions revoke ID",
               lambda: house.revoke(board.session_id))


def test_revoking_all_of_a_user(house, boards, measure):
    board = boards["all-of-a-user"]
    revocation(house, board, measure, "sessions revoke --all-of",
               lambda: house.admin.must("sessions", "revoke", "--all-of", board.owner.name))


def test_new_password(house, boards, measure):
    board = boards["new-password"]
    owner = board.owner
    new = house.password("the-new-one")
    revocation(house, board, measure, "users password",
               lambda: house.admin.must("users", "password", owner.name, "--password-file", new))
    assert owner.cli("whoami").returncode != 0
    owner.password_file = new
    owner.login()


def test_disabled_user(house, boards, measure):
    board = boards["disabled-user"]
    owner = board.owner
    revocation(house, board, measure, "users disable",
               lambda: house.admin.must("users", "disable", owner.name))
    assert owner.cli("whoami").returncode != 0
    assert owner.cli("login", "--username", owner.name, "--password-file",
                     owner.password_file).returncode != 0


def test_the_users_own_request(house, boards, measure):
    board = boards["own-sign-out"]
    session, answers = board.session_id, []
    revocation(house, board, measure, "DELETE /parse/sessions/ID",
               lambda: answers.append(
                   board.owner.http("DELETE", f"/parse/sessions/{session}")))
    assert answers == [(200, {})]
    assert board.owner.http("GET", f"/parse/sessions/{session}")[1].get("code") == 101
    assert board.owner.http("GET", f"/postern/v1/sessions/{session}")[1]["state"] == "revoked"


def test_release(house, boards, measure):
    board = boards["release"]
    revocation(house, board, measure, "boards release",
               lambda: board.owner.must("boards", "release", board.iid))
    assert board.iid not in board.owner.must("boards", "list", "--json")


def test_sign_out_on_the_board(house, boards, measure):
    board = boards["sign-out-on-the-board"]
    session, mark = board.session_id, board.watcher.mark()
    # The authority may hear of it later than the command waits.
    found = end(house, board, measure, lambda: board.command("session", "logout", ok=(0, 5)),
                "postern-agent session logout")
    assert found.refusal["rule"]
    assert board.wait_session("unavailable", since=mark)["reason"] == "signed-out"
    # It keeps its login for as long as it may ask again whether its sign-out was heard.
    assert house.wait_event("session.ended", session, 60)["actor"] == "board"


def test_a_person_can_pair_again_after_each(house, boards):
    for name in ("new-password", "release", "sign-out-on-the-board"):
        board = boards[name]
        mark = board.watcher.mark()
        board.owner.claim(board.pair("--new")).must_end()
        board.wait_session("available", since=mark)
        until(lambda: "seq" in board.write(), "writes to be taken again", 60)


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
