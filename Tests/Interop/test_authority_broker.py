"""The real `postern-authority`: what it lets boards do at its broker, and how it ends that."""

import json

import pytest

from authority_fixtures import (  # noqa: F401, bench is a fixture
    answered, bench, can_log_in, refusal, wait_removed,
)
from bench.authority_bench import AuthorityBench, session_ids
from bench.link import Link, Login, Refused
from bench.waiting import until
from board_player import BoardPlayer
from conftest import assert_nothing_leaked
from postern_contract import topics

# Topics.


def test_boards_are_confined_to_their_topics(bench):
    board, other = bench.live_board(), bench.live_board("other")
    assert board.publish_status() < 0x80
    assert board.publish_data("Reading", "create", b"{}") < 0x80
    forbidden = [
        topics.outbox(other.iid), topics.inbox(board.iid), topics.inbox(other.iid),
        topics.status(other.iid), topics.data(other.iid, "Reading", "create"),
        "$CONTROL/dynamic-security/v1", "postern/v1/x", "elsewhere",
    ]
    for topic in forbidden:
        assert board.link.publish(topic, b"x") >= 0x80, topic


@pytest.mark.parametrize("topic_filter", [
    "#", "+/#", "postern/#", "postern/v1/+/inbox", "postern/v1/+/outbox", "$SYS/#",
    "$CONTROL/#", "$share/x/postern/v1/+/inbox", "$share/authority/postern/v1/+/outbox",
])
def test_boards_subscribe_only_their_inbox(bench, topic_filter):
    board, other = bench.live_board(), bench.live_board("other")
    granted = board.link.subscribe(topic_filter)
    heard = board.link.mark()
    other.beat()
    other.publish_data("Reading", "create", b"private")
    board.beat()
    board.disconnect()
    foreign = [m for m in board.link.since(heard) if m.topic != topics.inbox(board.iid)]
    assert foreign == []
    assert granted >= 0x80


def test_boards_subscribe_no_other_inbox(bench):
    board, other = bench.live_board(), bench.live_board("other")
    assert board.link.subscribe(topics.inbox(other.iid)) >= 0x80


def test_login_is_bound_to_its_client_id(bench):
    board = bench.live_board()
    board.disconnect()
    with pytest.raises(Refused):
        Link(Login(bench.port, "another", board.iid, board.broker_password)).open()
    board.settle().beat()


# Revocation.


def test_revocation_is_retained_sealed_and_answered(bench):
    board = bench.live_board()
    session, seq = board.held.session["objectId"], board.held.provision["seq"]
    board.disconnect()
    bench.revoke(session)
    board.connect(30)
    revoked = board.wait_opened("session.revoked")
    assert revoked["sessionId"] == session and revoked["reason"]
    assert revoked["seq"] > seq
    assert any(m.retain and m.payload for m in board.link.heard)
    wait_removed(board)
    assert session not in _live_ids(bench, board)


def _live_ids(bench: AuthorityBench, board: BoardPlayer) -> set[str]:
    """Sessions listed for the board without a word that they are over."""
    over = [s for s in bench.sessions_of(board)
            if not any(word in json.dumps(s).lower() for word in ("revoked", "ended"))]
    return session_ids(over)


def test_revoked_message_is_cleared_after_the_farewell(bench):
    board = bench.live_board()
    heard = board.link
    bench.revoke(board.held.session["objectId"])
    board.wait_opened("session.revoked")
    until(lambda: not heard.is_up or any(not m.payload for m in heard.heard),
          "the message to be cleared or the client to be removed")
    wait_removed(board)


def test_revoked_board_keeps_only_its_farewell(bench):
    board = bench.live_board()
    board.says_farewell = False
    assert board.publish_data("Reading", "create", b"{}") < 0x80
    bench.revoke(board.held.session["objectId"])
    board.wait_opened("session.revoked")

    until(lambda: answered(
        board, lambda: board.publish_data("Reading", "create", b"late")) >= 0x80,
        "data to be refused")
    assert answered(board, board.publish_status) < 0x80
    assert refusal(board, "session.authenticate", sessionToken=board.held.session_token) == 209


def test_revoked_board_can_be_claimed_again(bench):
    board = bench.live_board()
    old = board.held.session["objectId"]
    bench.revoke(old)
    board.wait_opened("session.revoked")
    wait_removed(board)
    board.held, board.broker_password = None, None
    url = board.pair()
    claim = bench.claim(url)
    board.renew_derived_password()
    board.connect(30).wait_held()
    claim.must_end()
    board.settle()
    assert board.beat()["session"]["objectId"] != old


def test_revoking_what_does_not_exist_fails(bench):
    done = bench.cli("sessions", "revoke", "A" * 10)
    assert done.returncode != 0 and done.stderr.strip()


def test_open_claim_can_be_revoked(bench):
    board = bench.board()
    board.accepts = False
    bench.claim(board.claim_url)
    board.connect(30)
    provision = board.wait_opened("provision")
    bench.revoke(provision["session"]["objectId"])
    until(lambda: not can_log_in(board), "the client to be removed", 60)


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
