"""Prepared claims against the real authority and its broker: boards that ask to join with a file,
and all that a copied, late, stolen or forged file must not do."""

import hashlib
import sqlite3

import pytest

from bench.link import Refused
from bench.prepared_file import PreparedFile
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, house_settings  # noqa: F401, fixtures
from postern_contract import topics
from postern_contract.x25519 import KeyPair

ROUTE = "/postern/v1/prepared-claims"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def prepare(house, person=None, **order) -> list[PreparedFile]:  # noqa: F811
    status, body = (person or house.admin).http("POST", ROUTE, order)
    assert status == 201, body
    return [PreparedFile(one["file"], house.port, house.evidence) for one in body["claims"]]


def listed(file: PreparedFile, person) -> dict:
    status, body = person.http("GET", ROUTE)
    assert status == 200, body
    return next(one for one in body["claims"] if one["id"] == file.id)


def wait_state(file: PreparedFile, person, state: str) -> dict:
    until(lambda: listed(file, person)["state"] == state, f"the state {state}", 60)
    return listed(file, person)


def wait_second(file: PreparedFile, person) -> None:
    until(lambda: listed(file, person)["secondAt"], "a second board to be noticed", 60)


def accept(file: PreparedFile, person) -> tuple[int, dict]:
    return person.http("POST", f"{ROUTE}/{file.id}/accept")


def wait_login(file: PreparedFile) -> None:
    def is_let_in() -> bool:
        try:
            file.connect().close()
            return True
        except Refused:
            return False

    until(is_let_in, "the login of a prepared claim", 60)


def wait_no_login(file: PreparedFile) -> None:
    def is_refused() -> bool:
        try:
            file.connect().close()
            return False
        except Refused:
            return True

    until(is_refused, "the login of a prepared claim to go", 60)


def asking(house, person=None, **order) -> tuple:  # noqa: F811
    """A file, and the board that asks to join with it."""
    person = person or house.admin
    (file,) = prepare(house, person, **order)
    wait_login(file)
    board = house.board(file.members["name"])
    file.join(board)
    wait_state(file, person, "asking")
    return file, board


def fingerprint(key: bytes) -> str:
    bits = int.from_bytes(hashlib.sha256(key).digest()[:8]) >> 4
    text = "".join(CROCKFORD[bits >> (55 - 5 * i) & 31] for i in range(12))
    return "-".join(text[i:i + 4] for i in range(0, 12, 4))


def dropped(house) -> int:  # noqa: F811
    """How often the log says that something could not be opened, counted at powers of two."""
    return house.server.log.count("dropped a message that could not be opened")


def test_boards_join_and_an_administrator_accepts_them_for_their_owner(house):  # noqa: F811
    paul = house.user("paul", "--claim")
    files = prepare(house, paul, count=2, name="barn-{n}", labels=["barn"])
    assert [file.members["name"] for file in files] == ["barn-1", "barn-2"]
    boards = []
    for file in files:
        wait_login(file)
        board = house.board(file.members["name"])
        file.join(board)
        found = wait_state(file, paul, "asking")
        assert found["board"]["installationId"] == board.iid
        assert found["board"]["fingerprint"] == fingerprint(board.key.public)
        boards.append(board)
    for person, file in zip((paul, house.admin), files):
        status, body = accept(file, person)
        assert status == 201 and body["claim"]["state"] == "sent", body
    for board in boards:
        board.connect(60).wait_held()
        board.settle()
        board.beat()
    mine = paul.http("GET", "/postern/v1/boards")[1]["results"]
    assert {(b["installationId"], b["name"], tuple(b["labels"])) for b in mine} == {
        (board.iid, board.name, ("barn",)) for board in boards}


def test_auto_accept_needs_nobody(house):  # noqa: F811
    (file,) = prepare(house, autoAccept=True)
    wait_login(file)
    board = house.board()
    file.join(board)
    board.connect(60).wait_held()
    assert wait_state(file, house.admin, "accepted")["autoAccept"]


def test_the_login_asks_to_join_and_does_nothing_else(house):  # noqa: F811
    file, other = prepare(house, count=2)
    wait_login(file)
    link = file.connect()
    try:
        for topic in ("#", "+/+/+/outbox", file.outbox, topics.inbox(file.id),
                      topics.status(file.id), "$SYS/#", "$share/authority/postern/v1/+/outbox"):
            assert link.subscribe(topic) >= 0x80, topic
        for topic in (other.outbox, topics.inbox(file.id), topics.status(file.id),
                      topics.data(file.id, "Reading", "create", None),
                      "$CONTROL/dynamic-security/v1"):
            assert link.publish(topic, b"{}") >= 0x80, topic
    finally:
        link.close()


def test_a_copied_card_is_an_alarm_and_neither_board_is_accepted(house):  # noqa: F811
    file, first = asking(house)
    second = house.board("copy")
    file.join(second)
    wait_second(file, house.admin)
    assert listed(file, house.admin)["board"]["installationId"] == first.iid
    status, body = accept(file, house.admin)
    assert (status, body["code"], body["name"]) == (400, 119, "claim-used-twice"), body
    events = [e["event"] for e in house.audit() if e["installationId"] == file.id]
    assert "alarm.claim-used-twice" in events

    def is_alerted() -> bool:
        alerts = house.admin.http("GET", "/postern/v1/alerts")[1]["results"]
        return any(a["kind"] == "claim-used-twice"
                   and a["details"]["preparedClaimId"] == file.id for a in alerts)

    until(is_alerted, "an alert about two boards", 150)
    assert house.admin.http("DELETE", f"{ROUTE}/{file.id}")[0] == 200
    wait_no_login(file)


def test_a_stolen_file_after_the_acceptance_is_an_alarm_alone(house):  # noqa: F811
    file, board = asking(house)
    captured = file.sealed(board)
    assert accept(file, house.admin)[0] == 201
    board.connect(60).wait_held()
    board.settle()
    thief = house.board("thief")
    file.join(thief)
    wait_second(file, house.admin)
    assert listed(file, house.admin)["state"] == "accepted"
    # A replay of the board's own request changes nothing.
    file.join(board, captured)
    board.beat()
    with pytest.raises(Refused):
        thief._open(thief._derived)


def test_a_replay_changes_nothing(house):  # noqa: F811
    (file,) = prepare(house)
    wait_login(file)
    board = house.board()
    old = file.join(board)
    before = wait_state(file, house.admin, "asking")
    board.pair()
    board.renew_derived_password()
    file.join(board)
    for _ in range(3):
        file.join(board, old)
    assert listed(file, house.admin) == before
    assert accept(file, house.admin)[0] == 201
    # The provisioning is under the newer secret, so no replay brought the old one back.
    board.connect(60).wait_held()
    assert [e["event"] for e in house.audit() if e["installationId"] == file.id] == [
        "prepared-claim.accepted", "prepared-claim.asked", "prepared-claim.made"]


def test_what_is_sealed_otherwise_does_not_open(house):  # noqa: F811
    file, other = prepare(house, count=2)
    wait_login(file)
    board = house.board()
    damaged = bytearray(file.sealed(board))
    damaged[-4] ^= 1
    for payload in (file.sealed(board, under=other), file.sealed(board, topic=other.outbox),
                    other.sealed(board), bytes(damaged), b"{}", b"",
                    # A thief of the file who knows the board's public key, but not its own.
                    file.sealed(board, sealer=KeyPair())):
        file.join(board, payload or b" ")
    file.join(board)
    found = wait_state(file, house.admin, "asking")
    assert found["secondAt"] is None
    assert listed(other, house.admin)["state"] == "prepared"
    assert dropped(house) > 0


def test_an_ended_file_is_void(house):  # noqa: F811
    file, board = asking(house)
    assert accept(file, house.admin)[0] == 201
    assert house.admin.http("DELETE", f"{ROUTE}/{file.id}")[0] == 200
    wait_no_login(file)
    with pytest.raises(Refused):
        board._open(board._derived)
    status, body = accept(file, house.admin)
    assert (status, body["code"]) == (400, 119)


def test_a_late_file_is_void(house):  # noqa: F811
    file, board = asking(house)
    (unused,) = prepare(house)
    wait_login(unused)
    house.server.stop()
    with sqlite3.connect(house.folder / "state" / "authority.db") as database:
        database.execute("UPDATE prepared_claims SET expires_at = 0 WHERE id IN (?, ?)",
                         (file.id, unused.id))
    database.close()
    house.start()
    for late in (file, unused):
        wait_no_login(late)
        assert wait_state(late, house.admin, "expired")["expiresAt"] == 0
        status, body = accept(late, house.admin)
        assert (status, body["code"]) == (400, 119), body
    with pytest.raises(Refused):
        board._open(board._derived)


def test_limits(house):  # noqa: F811
    refused = [
        ({"count": 0}, 142), ({"count": 101}, 142), ({"count": 2, "name": "barn"}, 142),
        ({"name": "{n}{n}"}, 111), ({"expiresSeconds": 60}, 142), ({"labels": ["No"]}, 111),
        ({"broker": "https://broker.example"}, 111), ({"ca": "none"}, 142),
        ({"scope": {"rules": 1}}, 111), ({"count": "1"}, 111),
    ]
    for order, code in refused:
        status, body = house.admin.http("POST", ROUTE, order)
        assert (status, body["code"]) == (400, code), (order, body)
    nobody = house.user("nobody")
    for method, path, body in (("POST", ROUTE, {}), ("GET", ROUTE, None)):
        status, answer = nobody.http(method, path, body)
        assert (status, answer["code"]) == (400, 119), answer


def test_others_do_not_see_or_touch_it(house):  # noqa: F811
    file, _ = asking(house)
    eve = house.user("eve", "--claim")
    assert eve.http("GET", ROUTE)[1]["claims"] == []
    for method, path in (("POST", f"{ROUTE}/{file.id}/accept"), ("DELETE", f"{ROUTE}/{file.id}")):
        status, body = eve.http(method, path)
        assert (status, body["code"]) == (404, 101), body
    assert listed(file, house.admin)["state"] == "asking"


def test_nothing_leaked(house, evidence):  # noqa: F811
    house.server.stop()
    assert_nothing_leaked(evidence)
