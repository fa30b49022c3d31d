"""The two players against each other over a real mosquitto: the suite proves itself."""

import json
import time

import pytest

from bench.link import Link, Refused
from bench.upstream import Upstream
from bench.waiting import until
from board_player import BoardPlayer
from authority_player import DROP, IGNORE
from conftest import assert_nothing_leaked
from postern_contract import base64url, sealed, topics
from postern_contract.codes import ContractError
from postern_contract.x25519 import KeyPair


class Bench(Upstream):
    """An upstream broker with the authority player, and as many boards as a test wants."""

    def __init__(self, folder, evidence):
        super().__init__(folder, evidence)
        self.evidence = evidence
        self.boards = []

    def board(self, name: str = "greenhouse") -> BoardPlayer:
        self.boards.append(BoardPlayer(self.port, self.evidence, name))
        return self.boards[-1]

    def live_board(self, name: str = "greenhouse", **claim) -> BoardPlayer:
        """A board that has been claimed, has accepted, and is on its new password."""
        board = self.board(name)
        installation = self.authority.claim(board.claim_url, **claim)
        board.connect().wait_held()
        self.authority.wait_live(installation)
        return board.settle()

    def close(self):
        for board in self.boards:
            board.disconnect()
        super().close()


@pytest.fixture
def bench(tmp_path, evidence):
    bench = Bench(tmp_path, evidence)
    yield bench
    bench.close()


def test_board_is_not_let_in_before_it_is_claimed(bench):
    board = bench.board()
    with pytest.raises(Refused):
        Link(board.login()).open()
    bench.authority.claim(board.claim_url)
    board.connect().wait_held()


def test_board_that_tries_first_gets_in_once_claimed(bench):
    board = bench.board()
    time_of_claim = time.monotonic() + 0.5

    def claim_late():
        if time.monotonic() > time_of_claim and board.iid not in bench.authority.boards:
            bench.authority.claim(board.claim_url)
        try:
            board.connect(timeout=0.2)
            return True
        except AssertionError:
            return False

    until(claim_late, "the board to get in", 60)
    board.wait_held()


def test_claim_is_accepted_and_cleared(bench):
    board = bench.live_board()
    installation = bench.authority.boards[board.iid]
    assert installation.login.id == board.held.session["objectId"]
    assert board.claim_secret is None
    inbox = topics.inbox(board.iid)
    bench.observer.wait(lambda m: m.topic == inbox and not m.payload, "the inbox cleared")
    provision = bench.observer.wait_topic(inbox)
    assert 0 < provision.expiry <= 600
    assert b"sessionToken" not in provision.payload


def test_new_password_replaces_the_derived_one(bench):
    board = bench.live_board()
    assert board._new_password_worked
    with pytest.raises(Refused):
        Link(board.login()).open()


def test_heartbeat_tells_session_user_scope_and_now(bench):
    board = bench.live_board(scope={"default": "allow", "rules": []})
    begun = int(time.time())
    reply = board.beat()
    assert reply["session"] == board.held.session
    assert reply["user"]["username"] == "ada"
    assert reply["scope"] == {"default": "allow", "rules": []}
    assert begun <= reply["now"] <= time.time()


def test_heartbeat_extends_only_when_asked(bench):
    board = bench.live_board()
    assert board.beat()["session"]["expiresAt"] is None
    begun = int(time.time())
    expires = board.beat(durationMinutes=5)["session"]["expiresAt"]
    assert begun <= expires - 300 <= time.time()
    with pytest.raises(ContractError) as refusal:
        board.beat(durationMinutes=4)
    assert refusal.value.code == 142


def test_same_request_gets_the_identical_reply(bench):
    board = bench.live_board()
    request = board.new_request("session.authenticate", sessionToken=board.held.session_token)
    board.exchange(request)
    board.send(request)
    board.send(request | {"iat": request["iat"] + 1})
    until(lambda: len(_replies(board, request)) == 3, "two more replies", 60)
    assert len(set(_replies(board, request))) == 1


def _replies(board, request) -> list[bytes]:
    """The payloads on the board's inbox that answer this request."""
    authority = base64url.decode(board.held.provision["authority"]["sealKey"])
    found = []
    for message in board.link.heard:
        try:
            body = sealed.open_auth(message.payload, message.topic, board.key, authority)
        except sealed.CannotOpen:
            continue
        if body.get("re") == request["id"]:
            found.append(message.payload)
    return found


def test_unanswered_request_is_repeated_with_its_id(bench):
    board = bench.live_board()
    bench.authority.script("session.authenticate", IGNORE)
    mark = bench.authority.mark()
    board.beat()
    ids = [r.id for r in bench.authority.requests[mark:] if r.type == "session.authenticate"]
    assert len(ids) >= 2 and len(set(ids)) == 1


@pytest.mark.parametrize("strayed", [{"iat": -600}, {"iat": +600}, {"clock": "unset"}])
def test_wrong_clock_is_answered_with_now(bench, strayed):
    board = bench.live_board()
    request = board.new_request("session.authenticate", sessionToken="r:" + "A" * 43)
    request |= {"iat": request["iat"] + strayed["iat"]} if "iat" in strayed else strayed
    begun = int(time.time())
    reply = _raw_exchange(board, request)
    assert reply["error"]["code"] == 142
    assert begun <= reply["now"] <= time.time()


def _raw_exchange(board, request: dict) -> dict:
    board.send(request)
    return until(lambda: board.reply_to(request["id"]), "the reply", 60)


@pytest.mark.parametrize("type_, members, code", [
    ("session.authenticate", {"sessionToken": "r:" + "A" * 43}, 209),
    ("session.authenticate", {"sessionToken": 7}, 111),
    ("session.authenticate", {}, 107),
    ("session.invented", {}, 119),
])
def test_bad_requests_are_refused_by_number(bench, type_, members, code):
    board = bench.live_board()
    with pytest.raises(ContractError) as refusal:
        board.ask(type_, **members)
    assert refusal.value.code == code
    board.beat()


def test_stolen_token_counts_nowhere_else(bench):
    board, thief = bench.live_board(), bench.live_board("thief")
    with pytest.raises(ContractError) as refusal:
        thief.ask("session.authenticate", sessionToken=board.held.session_token)
    assert refusal.value.code == 209
    board.beat()
    thief.beat()


def test_boards_are_confined_to_their_topics(bench):
    board, other = bench.live_board(), bench.live_board("other")
    mark = bench.observer.mark()
    assert board.link.publish(topics.outbox(other.iid), "x") >= 0x80
    assert board.link.publish(topics.inbox(board.iid), "x") >= 0x80
    assert board.link.publish(topics.status(other.iid), "x") >= 0x80
    board.link.subscribe(topics.inbox(other.iid))
    heard = board.link.mark()
    other.beat()
    board.beat()
    assert [m for m in board.link.since(heard) if other.iid in m.topic] == []
    assert [m for m in bench.observer.since(mark) if m.payload == b"x"] == []


def test_data_arrives_with_its_properties(bench):
    board = bench.live_board()
    payload = bytes(range(256))
    board.publish_data("Reading", "create", payload)
    board.publish_data("Reading", "update", b"{}", object_id="a-1")
    arrived = bench.observer.wait_topic(topics.data(board.iid, "Reading", "create"))
    assert arrived.payload == payload and not arrived.retain
    assert arrived.user["sid"] == board.held.session["objectId"]
    assert arrived.user["app"] == "thermo" and arrived.user["seq"] == "1"
    bench.observer.wait_topic(topics.data(board.iid, "Reading", "update", "a-1"))


def test_status_is_retained_and_the_will_says_down(bench):
    board = bench.live_board()
    mark = bench.observer.mark()
    board.publish_status()
    topic = topics.status(board.iid)
    up = json.loads(bench.observer.wait_topic(topic, since=mark).payload)
    assert (up["status"], up["session"]) == ("up", "available")
    board.link.drop()
    bench.observer.wait(
        lambda m: m.topic == topic and json.loads(m.payload)["status"] == "down", "the will",
        since=mark,
    )


def test_revocation_is_answered_cleared_and_the_client_removed(bench):
    board = bench.live_board()
    revoked = bench.authority.revoke(bench.authority.boards[board.iid])
    heard = board.wait_opened("session.revoked")
    assert heard["id"] == revoked["id"] and board.ended == "revoked"
    ended = bench.authority.wait_request("session.ended")
    assert ended.body["re"] == revoked["id"]
    until(lambda: not board.link.is_up, "the broker to put the board out", 60)
    with pytest.raises(Refused):
        Link(board.login(board.broker_password)).open()
    inbox = topics.inbox(board.iid)
    until(lambda: [m for m in bench.observer.heard if m.topic == inbox][-1].payload == b"",
          "the retained revocation to be cleared", 60)


def test_revoked_board_keeps_only_its_farewell(bench):
    board = bench.live_board()
    board.says_farewell = False
    bench.authority.revoke(bench.authority.boards[board.iid])
    board.wait_opened("session.revoked")
    assert board.publish_data("Reading", "create", b"late") >= 0x80
    with pytest.raises(ContractError) as refusal:
        board.beat()
    assert refusal.value.code == 209
    assert all(m.payload != b"late" for m in bench.observer.heard)


def test_revocation_waits_for_a_board_that_is_away(bench):
    board = bench.live_board()
    board.disconnect()
    revoked = bench.authority.revoke(bench.authority.boards[board.iid])
    board.connect()
    assert board.wait_opened("session.revoked")["id"] == revoked["id"]


def test_update_changes_the_scope(bench):
    board = bench.live_board()
    scope = {"default": "deny", "rules": [{"class": "Reading", "allow": ["create"]}]}
    installation = bench.authority.boards[board.iid]
    update = bench.authority.update(installation, scope)
    board.wait_opened("session.updated")
    assert board.held.scope == scope
    confirmed = bench.authority.wait_request("session.confirmed")
    assert confirmed.body["re"] == update["id"]
    assert confirmed.body["sessionId"] == board.held.session["objectId"]
    mark = bench.authority.mark()
    bench.authority.send(installation, bench.authority.seal(installation, update))
    again = bench.authority.wait_request("session.confirmed", since=mark)
    assert again.body["re"] == update["id"]


def test_old_sequence_numbers_are_ignored(bench):
    board = bench.live_board()
    installation = bench.authority.boards[board.iid]
    for scope in ({"default": "deny", "rules": []}, {"default": "allow", "rules": []}):
        bench.authority.update(installation, scope)
        until(lambda: board.held.scope == scope, "the update", 60)
    first = next(m for m in board.link.heard if _says(board, m, "session.updated"))
    bench.authority.send(installation, first.payload)
    board.beat()
    assert board.held.scope == {"default": "allow", "rules": []}


def _says(board, message, type_: str) -> bool:
    authority = base64url.decode(board.held.provision["authority"]["sealKey"])
    try:
        body = sealed.open_auth(message.payload, message.topic, board.key, authority)
    except sealed.CannotOpen:
        return False
    return body["type"] == type_


def test_messages_of_strangers_are_dropped(bench):
    board = bench.live_board()
    request = board.new_request("session.authenticate", sessionToken=board.held.session_token)
    stranger, topic = KeyPair(), topics.outbox(board.iid)
    authority = bench.authority.seal_key.public
    forged = sealed.seal_auth(request, topic, authority, stranger)
    board.link.publish(topic, forged)
    until(lambda: forged in bench.authority.unopened, "the authority to drop it", 60)
    assert board.reply_to(request["id"]) is None


def test_redelivered_provisioning_is_accepted_again_until_a_reply(bench):
    board = bench.board()
    installation = bench.authority.claim(board.claim_url)
    board.connect().wait_held()
    bench.authority.wait_live(installation)
    board.settle()
    mark = bench.authority.mark()
    bench.authority.send(installation, installation.provision_payload)
    again = bench.authority.wait_request("provision.accepted", since=mark)
    assert again.body["sessionId"] == board.held.session["objectId"]


def test_rejected_provisioning_leaves_the_claim_secret(bench):
    board = bench.board()
    installation = bench.authority.admit(board.claim_url)
    bench.authority.provision(installation, exp=int(time.time()) - 10)
    board.connect()
    rejected = bench.authority.wait_request("provision.rejected")
    assert rejected.body["error"]["code"] == 142
    assert board.held is None and board.claim_secret is not None
    bench.authority.provision(installation)
    board.wait_held()


def test_any_request_with_the_new_token_accepts(bench):
    board = bench.board()
    board.accepts = False
    installation = bench.authority.claim(board.claim_url)
    board.connect()
    provision = board.wait_opened("provision")
    board._hold(provision, b"")
    board.beat()
    assert installation.login.id == provision["session"]["objectId"]


def test_lists_tell_no_token(bench):
    board, other = bench.live_board(), bench.live_board("other")
    sessions = board.ask("session.list", sessionToken=board.held.session_token)["sessions"]
    assert {s["installationId"] for s in sessions} == {board.iid, other.iid}
    assert "Token" not in json.dumps(sessions)
    user = board.ask("user.get", sessionToken=board.held.session_token)["user"]
    assert user == {"objectId": "user-ada", "username": "ada"}


def test_signing_out_ends_the_session(bench):
    board = bench.live_board()
    reply = board.ask("session.revoke", sessionToken=board.held.session_token)
    assert set(reply) - {"nowMilliseconds"} == {"type", "id", "iat", "re", "now"}
    with pytest.raises(ContractError) as refusal:
        board.beat()
    assert refusal.value.code == 209


def test_lost_refresh_reply_is_sent_again(bench):
    board = bench.live_board()
    bench.authority.script("session.refresh", DROP)
    spent = board.held.refresh_token
    board.refresh()
    assert board.held.refresh_token != spent and bench.authority.thefts == []
    board.beat()


def test_spent_refresh_token_is_theft(bench):
    board = bench.live_board()
    spent = board.held.refresh_token
    board.refresh()
    with pytest.raises(ContractError) as refusal:
        board.ask("session.refresh", refreshToken=spent)
    assert refusal.value.code == 209
    assert bench.authority.thefts == [board.iid]
    assert board.wait_opened("session.revoked")["reason"] == "reuse"


def test_no_secret_was_seen_anywhere(evidence):
    assert_nothing_leaked(evidence)


def test_search_finds_a_secret_that_is_there(evidence):
    from bench.evidence import Evidence

    token = "r:" + base64url.encode(bytes(range(32)))
    planted = Evidence()
    planted.add_secret("a token", token)
    planted.journal += [("in/hex", bytes(range(32)).hex().encode()), ("clean", b"nothing")]
    planted.texts.append(("a log", f"token={token}".encode()))
    assert planted.search() == ["a token in MQTT in/hex", "a token in a log"]
