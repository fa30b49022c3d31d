"""The real `postern-authority`: what it answers to boards."""

import json
import time

import pytest

from authority_fixtures import (  # noqa: F401, bench is a fixture
    bench, is_over, refusal, replies_to, sent_anew,
)
from bench.waiting import until
from conftest import assert_nothing_leaked
from postern_contract import access_token, base64url, messages, sealed, topics
from postern_contract.codes import ContractError
from postern_contract.x25519 import KeyPair

GARBAGE_TOKEN = "r:" + "A" * 43
REPLY_MEMBERS = {"type", "id", "iat", "re", "now"}


def assert_now(reply: dict, before: float) -> None:
    """It was made after `before`, and now it is past. A second is what whole seconds cut off."""
    assert before - 1 <= reply["now"] <= time.time() + 1


def test_heartbeat_tells_session_user_and_now(bench):
    board, before = bench.live_board(), time.time()
    reply = board.beat()
    assert reply["session"]["objectId"] == board.held.session["objectId"]
    assert reply["user"] == board.held.provision["user"]
    assert_now(reply, before)
    messages.check_session(reply["session"])
    assert reply.get("scope") == board.held.scope
    again = board.beat()
    assert again["session"]["expiresAt"] == reply["session"]["expiresAt"]


def test_same_request_gets_the_identical_payload(bench):
    board = bench.live_board()
    request = board.new_request("session.authenticate", sessionToken=board.held.session_token)
    sent_anew(board, request)
    board.send(request)
    board.send(request | {"iat": request["iat"] + 1})
    board.send(request | {"sessionToken": GARBAGE_TOKEN})
    until(lambda: len(replies_to(board, request)) >= 4, "four replies")
    assert len(set(replies_to(board, request))) == 1


def test_redelivered_request_outlives_a_restart(bench):
    board = bench.live_board()
    request = board.new_request("session.authenticate", sessionToken=board.held.session_token)
    sent_anew(board, request)
    first = replies_to(board, request)
    bench.server.kill()
    bench.start()
    board.connect(30)
    board.send(request)
    until(lambda: replies_to(board, request), "the kept reply")
    assert set(replies_to(board, request)) == set(first)


# Beyond 300 s even after half a minute on the way.
@pytest.mark.parametrize("strayed", [-600, -301, 335, 600])
@pytest.mark.parametrize("type_", ["session.authenticate", "session.list", "user.get"])
def test_strayed_clock_is_told_now_and_nothing_is_done(bench, strayed, type_):
    board = bench.live_board()
    for token in (board.held.session_token, GARBAGE_TOKEN):
        request = board.new_request(type_, sessionToken=token)
        request["iat"] += strayed - (strayed < 0) * 2
        before = time.time()
        reply = sent_anew(board, request)
        assert reply["error"]["code"] == 142
        assert_now(reply, before)
    board.beat()


@pytest.mark.parametrize("strayed", [-90 * 86_400, -600, 600])
@pytest.mark.parametrize("clock", [None, "unset"])
def test_sign_out_counts_at_any_time(bench, strayed, clock):
    board = bench.live_board()
    for token in (GARBAGE_TOKEN, "r:", board.held.session_token):
        request = board.new_request("session.revoke", sessionToken=token)
        request["iat"] += strayed
        if clock:
            request["clock"] = clock
        reply = sent_anew(board, request)
        is_its_own = token is board.held.session_token
        assert reply.get("error", {}).get("code") == (None if is_its_own else 209)
    assert is_over(board)


@pytest.mark.parametrize("token", [None, GARBAGE_TOKEN])
def test_unset_clock_is_told_now(bench, token):
    board = bench.live_board()
    request = board.new_request(
        "session.authenticate", sessionToken=token or board.held.session_token, clock="unset"
    )
    assert sent_anew(board, request)["error"]["code"] == 142
    board.beat()


@pytest.mark.parametrize("token", [
    GARBAGE_TOKEN, "", "r:", "rt:AAAA", "r:" + "A" * 4000, "r:\u0000", "r:☃",
])
def test_garbage_tokens_are_209(bench, token):
    board = bench.live_board()
    assert refusal(board, "session.authenticate", sessionToken=token) == 209
    board.beat()


@pytest.mark.parametrize("type_", ["session.invented", "", "reply", "provision"])
def test_unknown_types_are_119(bench, type_):
    assert refusal(bench.live_board(), type_) == 119


@pytest.mark.parametrize("members", [
    {}, {"sessionToken": 7}, {"sessionToken": None}, {"sessionToken": ["r:"]},
])
def test_missing_and_mistyped_members_are_errors(bench, members):
    board = bench.live_board()
    assert refusal(board, "session.authenticate", **members) in (107, 111, 142)
    board.beat()


def test_stolen_token_counts_nowhere_else(bench):
    board, thief = bench.live_board(), bench.live_board("thief")
    token = board.held.session_token
    for type_ in ("session.authenticate", "session.revoke", "session.list", "user.get"):
        assert refusal(thief, type_, sessionToken=token) == 209
    board.beat()
    thief.beat()


def test_messages_that_cannot_be_opened_get_no_answer(bench):
    board = bench.live_board()
    authority = base64url.decode(board.held.provision["authority"]["sealKey"])
    topic = topics.outbox(board.iid)
    request = board.new_request("session.revoke", sessionToken=board.held.session_token)
    good = board.seal(request)
    bad = [
        sealed.seal_auth(request, topic, authority, KeyPair()),
        sealed.seal_auth(request, topics.inbox(board.iid), authority, board.key),
        sealed.seal_auth(request, topic, KeyPair().public, board.key),
        sealed.seal_auth(b"[]", topic, authority, board.key),
        sealed.seal_auth(b"[" * 100_000, topic, authority, board.key),
        good[:-9], good.replace(b'"v":1', b'"v":2'), good.replace(b"auth", b"psk"),
        b"", b"{}", b"\xff", b"A" * (1 << 20),
    ]
    for payload in bad:
        board.link.publish(topic, payload)
    board.beat()
    assert board.reply_to(request["id"]) is None
    assert bench.server.is_running


def test_what_the_authority_said_is_nothing_when_it_comes_back(bench):
    board = bench.live_board()
    board.refresh()
    said = [message.payload for message in board.link.heard if message.payload]
    assert said
    before = len(board.opened)
    for payload in said:
        board.link.publish(topics.outbox(board.iid), payload)
    answer = board.beat()
    # A heartbeat that was sent twice gets one reply twice.
    assert {message["id"] for message in board.opened[before:]} == {answer["id"]}
    assert bench.server.is_running


def test_user_and_sessions_are_told_without_tokens(bench):
    board, other = bench.live_board(), bench.live_board("other")
    token = board.held.session_token
    user = board.ask("user.get", sessionToken=token)["user"]
    assert user["username"] == "ada" and user["objectId"] == board.held.session["user"]
    sessions = board.ask("session.list", sessionToken=token)["sessions"]
    assert {board.iid, other.iid} <= {s["installationId"] for s in sessions}
    assert all(s["restricted"] is True for s in sessions)
    # `createdWith.authProvider` is "password": members count here, not what they say.
    names = {name.lower() for each in [user, *sessions] for name in each}
    assert not [name for name in names if "token" in name or "password" in name]
    text = json.dumps([user, sessions])
    assert not [secret for secret in (token, board.held.access_token, board.held.refresh_token)
                if secret in text]


def test_signing_out_ends_the_session(bench):
    board = bench.live_board()
    board.says_farewell = False
    reply = board.ask("session.revoke", sessionToken=board.held.session_token)
    assert REPLY_MEMBERS <= set(reply) <= REPLY_MEMBERS | {"nowMilliseconds", "signKeys"}
    assert is_over(board)


@pytest.mark.lifecycle
def test_heartbeat_extends_when_asked(bench):
    board = bench.live_board()
    expires = board.beat(durationMinutes=10)["session"]["expiresAt"]
    assert abs(expires - time.time() - 600) < 60
    for minutes in (4, 0, -1, 366 * 24 * 60):
        with pytest.raises(ContractError) as refused:
            board.beat(durationMinutes=minutes)
        assert refused.value.code == 142


@pytest.mark.lifecycle
def test_refresh_rotates_and_redelivers(bench):
    board = bench.live_board()
    spent = board.held.refresh_token
    request = board.new_request("session.refresh", refreshToken=spent)
    reply = sent_anew(board, request)
    board.send(request)
    until(lambda: len(replies_to(board, request)) >= 2, "two replies")
    assert len(set(replies_to(board, request))) == 1
    assert reply["refreshToken"] != spent
    keys = board.held.provision["authority"]["signKeys"]
    assert access_token.verify(reply["accessToken"], keys)["iid"] == board.iid
    board.held.refresh_token = reply["refreshToken"]
    board.refresh()
    board.beat()


@pytest.mark.lifecycle
def test_spent_refresh_token_is_theft(bench):
    board = bench.live_board()
    board.says_farewell = False
    spent = board.held.refresh_token
    board.refresh()
    assert refusal(board, "session.refresh", refreshToken=spent) == 209
    assert board.wait_opened("session.revoked")["reason"]
    until(lambda: is_over(board), "the whole family to be over", 60)


@pytest.mark.lifecycle
def test_unknown_refresh_family_is_not_theft(bench):
    board = bench.live_board()
    code = refusal(board, "session.refresh", refreshToken="rt:" + "A" * 75)
    assert code in (101, 209)
    board.beat()


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
