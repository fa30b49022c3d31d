"""The real `postern-authority` and `postern`, with boards played from the contract alone."""

import json
import time
from pathlib import Path

import pytest

from bench.authority_bench import AuthorityBench, session_ids
from bench.link import Link, Login, Refused
from bench.waiting import until
from board_player import BoardPlayer
from conftest import assert_nothing_leaked
from postern_contract import access_token, base64url, messages, names, sealed, topics
from postern_contract.claim_url import ClaimURL
from postern_contract.codes import ContractError
from postern_contract.x25519 import KeyPair

GARBAGE_TOKEN = "r:" + "A" * 43
REPLY_MEMBERS = {"type", "id", "iat", "re", "now"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory, evidence, programs):
    """One authority for the whole file: each test brings boards of its own."""
    bench = AuthorityBench(tmp_path_factory.mktemp("authority"), evidence, programs)
    yield bench
    bench.close()


def refusal(board: BoardPlayer, type_: str, **members) -> int:
    """The number of the error that the authority answers with."""
    with pytest.raises(ContractError) as refused:
        board.ask(type_, **members)
    return refused.value.code


def sent_anew(board: BoardPlayer, request: dict) -> dict:
    """The reply to a request that is sent once, as it stands."""
    board.send(request)
    return until(lambda: board.reply_to(request["id"]), f"a reply to {request['type']}")


def replies_to(board: BoardPlayer, request: dict) -> list[bytes]:
    """All payloads on this connection that answer the request."""
    authority = base64url.decode(board.held.provision["authority"]["sealKey"])

    def answers(message) -> bool:
        try:
            body = sealed.open_auth(message.payload, message.topic, board.key, authority)
        except sealed.CannotOpen:
            return False
        return body.get("re") == request["id"]

    return [m.payload for m in board.link.heard if answers(m)]


# The claim.


def test_unclaimed_board_is_refused_by_the_broker(bench):
    board = bench.board()
    for login in (board.login(), Login(bench.port, "nobody")):
        with pytest.raises(Refused) as refused:
            Link(login).open()
        assert refused.value.code in (0x86, 0x87, 0x8C)


def test_claim_lets_in_and_provisions(bench):
    board = bench.board()
    claim = bench.claim(board.claim_url)
    board.connect(30).wait_held()
    claim.must_end()
    board.settle()
    provision = board.held.provision
    assert (provision["session"]["installationId"], provision["exp"] > time.time()) == (
        board.iid, True
    )
    assert provision["session"]["user"] == provision["user"]["objectId"]
    assert provision["user"]["username"] == "ada"
    assert names.is_a("session token", provision["sessionToken"])
    assert names.is_a("refresh token", provision["refreshToken"])
    assert len(base64url.decode(provision["refreshToken"][3:])) == 16 + 8 + 32
    assert provision["authority"]["name"] == "Interop"
    assert len(provision["broker"]["password"]) >= 22


def test_provisioning_is_retained_and_expires(bench):
    board = bench.board()
    board.accepts = False
    bench.claim(board.claim_url)
    board.connect(30)
    first = board.wait_opened("provision")
    board.connect(30)
    again = board.link.wait(lambda m: m.payload, "the retained provisioning")
    assert again.retain and again.qos == 1
    assert 0 < again.expiry <= first["exp"] - time.time() + 5


def test_session_times_are_seconds(bench):
    session = bench.live_board().held.session
    assert abs(session["createdAt"] - time.time()) < 60
    assert session["expiresAt"] is None or session["expiresAt"] > time.time()


def test_access_token_says_what_the_contract_lists(bench):
    board = bench.live_board()
    provision = board.held.provision
    keys = provision["authority"]["signKeys"]
    header, *_ = access_token.read(provision["accessToken"])
    assert header == {"alg": "EdDSA", "typ": "at+jwt", "kid": header["kid"]}
    claims = access_token.verify(provision["accessToken"], keys)
    assert claims["sub"] == provision["user"]["objectId"]
    assert claims["aud"] == "postern" and claims["iss"]
    assert claims["nbf"] <= claims["iat"] <= time.time() + 1 < claims["exp"]
    assert claims["exp"] - claims["iat"] <= 3600
    assert claims["sid"] == provision["session"]["objectId"]
    assert claims["iid"] == board.iid and claims["restricted"] is True
    assert claims["cnf"] == {"kid": board.key.id}
    assert claims["jti"]


def test_accepted_session_is_listed(bench):
    board = bench.live_board("listed")
    session = board.held.session["objectId"]
    assert session in session_ids(bench.sessions_of(board))
    assert board.iid in json.dumps(bench.cli_json("boards", "list"))


def test_lists_tell_no_secret(bench):
    board = bench.live_board()
    text = json.dumps([bench.cli_json("boards", "list"), bench.cli_json("sessions", "list")])
    assert "sessionToken" not in text and "refreshToken" not in text
    assert board.held.session_token not in text


def test_any_request_with_the_new_token_accepts(bench):
    board = bench.board()
    board.accepts = False
    claim = bench.claim(board.claim_url)
    board.connect(30)
    provision = board.wait_opened("provision")
    board._hold(provision, b"")
    board.beat()
    claim.must_end()
    assert provision["session"]["objectId"] in session_ids(bench.sessions_of(board))


def test_accepted_provisioning_is_cleared(bench):
    board = bench.live_board()
    board.connect()
    board.beat()
    assert [m for m in board.link.heard if m.retain and m.payload] == []


def test_new_password_replaces_the_derived_one(bench):
    board = bench.live_board()
    assert board._new_password_worked

    def derived_is_refused() -> bool:
        try:
            Link(board.login()).open().close()
            return False
        except Refused:
            return True

    until(derived_is_refused, "the derived password to be refused")
    board.settle().beat()


def test_claim_with_scope_and_duration(bench):
    scope = {"default": "deny", "rules": [{"class": "Reading", "allow": ["create"]}]}
    path = Path(bench.folder) / "scope.json"
    path.write_text(json.dumps(scope))
    board = bench.live_board("scoped", "--scope", path, "--duration", "30d")
    assert board.held.scope == scope
    expires = board.held.session["expiresAt"]
    assert abs(expires - time.time() - 30 * 86400) < 120
    assert board.beat()["scope"] == scope


@pytest.mark.parametrize("topic", ["postern/v1/#", "#", "+/v1/x/inbox", "$CONTROL/#"])
def test_scope_may_not_reach_the_contracts_topics(bench, topic):
    path = Path(bench.folder) / "wide.json"
    path.write_text(json.dumps({"default": "allow", "rules": [], "topics": [topic]}))
    board = bench.board()
    bench.claim(board.claim_url, "--scope", path).must_fail()
    with pytest.raises(Refused):
        Link(board.login()).open()


def test_second_claim_while_one_is_open_is_refused(bench):
    board = bench.board()
    board.accepts = False
    first = bench.claim(board.claim_url)
    board.connect(30)
    board.wait_opened("provision")
    bench.claim(board.pair()).must_fail()
    board.accepts = True
    board.claim_secret = ClaimURL.parse(board.claim_url).claim_secret
    board.connect().wait_held()
    first.must_end()


def test_other_device_key_for_a_known_board_is_refused(bench):
    board = bench.live_board()
    url = ClaimURL(board.iid, KeyPair().public, bytes(range(32)), "impostor")
    bench.claim(str(url)).must_fail()
    board.beat()


def test_used_claim_url_changes_nothing(bench):
    board = bench.live_board()
    session = board.held.session["objectId"]
    bench.claim(board.claim_url).must_fail()
    assert board.beat()["session"]["objectId"] == session


def test_live_board_is_provisioned_anew_over_its_login(bench):
    board = bench.live_board()
    old, password = board.held.session["objectId"], board.broker_password
    claim = bench.claim(board.pair())
    until(lambda: board.held.session["objectId"] != old, "the second provisioning", 30)
    claim.must_end()
    board.connect().beat()
    assert board.broker_password == password or board._new_password_worked
    assert old not in session_ids(bench.sessions_of(board))


def _spoil(old: str, new: str):
    return lambda url: url.replace(old, new, 1)


@pytest.mark.parametrize("spoil", [
    lambda url: "", lambda url: "http://", lambda url: url.partition("#")[0],
    lambda url: url.partition("&c=")[0], lambda url: url[: len(url) // 2],
    _spoil("v=1", "v=2"), _spoil("v=1&", ""), _spoil("&k=", "&k=A"), _spoil("&c=", "&c=!"),
    _spoil("&i=", "&i=../"), _spoil("-4", "-1"), _spoil("#", "#v=1&"),
    lambda url: url.partition("&n=")[0] + "&n=%ff%fe", lambda url: url + "&c=" + "A" * 43,
    lambda url: url.upper(),
], ids=range(15))
def test_malformed_claim_urls_are_refused(bench, spoil):
    board = bench.board()
    words = bench.claim(spoil(board.claim_url)).must_fail(30)
    assert "claim" in words.lower() or "url" in words.lower() or "Usage" in words
    with pytest.raises(Refused):
        Link(board.login()).open()


def test_claiming_needs_a_login(bench):
    board = bench.board()
    done = bench.cli("--profile-dir", bench.folder / "nobody", "claim", board.claim_url, "--json")
    assert done.returncode != 0 and done.stderr.strip()


# Requests.


def test_heartbeat_tells_session_user_and_now(bench):
    board = bench.live_board()
    reply = board.beat()
    assert reply["session"]["objectId"] == board.held.session["objectId"]
    assert reply["user"] == board.held.provision["user"]
    assert abs(reply["now"] - time.time()) < 5
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
    until(lambda: len(replies_to(board, request)) == 4, "four replies")
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


@pytest.mark.parametrize("strayed", [-600, -301, 301, 600])
@pytest.mark.parametrize("type_", ["session.authenticate", "session.revoke", "user.get"])
def test_strayed_clock_is_told_now_and_nothing_is_done(bench, strayed, type_):
    board = bench.live_board()
    for token in (board.held.session_token, GARBAGE_TOKEN):
        request = board.new_request(type_, sessionToken=token)
        request["iat"] += strayed + (strayed > 0) * 2 - (strayed < 0) * 2
        reply = sent_anew(board, request)
        assert reply["error"]["code"] == 142
        assert abs(reply["now"] - time.time()) < 5
    board.beat()


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


def test_user_and_sessions_are_told_without_tokens(bench):
    board, other = bench.live_board(), bench.live_board("other")
    token = board.held.session_token
    user = board.ask("user.get", sessionToken=token)["user"]
    assert user["username"] == "ada" and user["objectId"] == board.held.session["user"]
    sessions = board.ask("session.list", sessionToken=token)["sessions"]
    assert {board.iid, other.iid} <= {s["installationId"] for s in sessions}
    assert all(s["restricted"] is True for s in sessions)
    text = json.dumps([user, sessions]).lower()
    assert "token" not in text and "password" not in text


def test_signing_out_ends_the_session(bench):
    board = bench.live_board()
    board.says_farewell = False
    reply = board.ask("session.revoke", sessionToken=board.held.session_token)
    assert REPLY_MEMBERS <= set(reply) <= REPLY_MEMBERS | {"signKeys"}
    assert _is_over(board)


def _is_over(board: BoardPlayer) -> bool:
    """209 to a heartbeat, or no way in at the broker any more."""
    try:
        return refusal(board, "session.authenticate",
                       sessionToken=board.held.session_token) == 209
    except AssertionError:
        return not board.link.is_up


@pytest.mark.lifecycle
def test_heartbeat_extends_when_asked(bench):
    board = bench.live_board()
    expires = board.beat(durationMinutes=10)["session"]["expiresAt"]
    assert abs(expires - time.time() - 600) < 10
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
    until(lambda: len(replies_to(board, request)) == 2, "two replies")
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
    spent = board.held.refresh_token
    board.refresh()
    assert refusal(board, "session.refresh", refreshToken=spent) == 209
    assert board.wait_opened("session.revoked")["reason"]
    until(lambda: _is_over(board), "the whole family to be over", 30)


@pytest.mark.lifecycle
def test_unknown_refresh_family_is_not_theft(bench):
    board = bench.live_board()
    code = refusal(board, "session.refresh", refreshToken="rt:" + "A" * 75)
    assert code in (101, 209)
    board.beat()


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
    foreign = [m for m in board.link.since(heard) if m.topic != topics.inbox(board.iid)]
    assert foreign == []
    assert granted >= 0x80 or topic_filter.startswith(("#", "+", "postern"))


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
    until(lambda: not _can_log_in(board), "the client to be removed", 30)
    assert session not in _live_ids(bench, board)


def _can_log_in(board: BoardPlayer) -> bool:
    try:
        Link(board.login(board.broker_password)).open().close()
        return True
    except Refused:
        return False


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
          "the message to be cleared or the client to be removed", 30)
    until(lambda: not _can_log_in(board), "the client to be removed", 30)


def test_revoked_board_keeps_only_its_farewell(bench):
    board = bench.live_board()
    board.says_farewell = False
    assert board.publish_data("Reading", "create", b"{}") < 0x80
    bench.revoke(board.held.session["objectId"])
    board.wait_opened("session.revoked")

    def is_shrunk() -> bool:
        board.connect()
        return board.publish_data("Reading", "create", b"late") >= 0x80

    until(is_shrunk, "data to be refused", 15)
    assert board.publish_status() < 0x80
    assert refusal(board, "session.authenticate", sessionToken=board.held.session_token) == 209


def test_revoked_board_can_be_claimed_again(bench):
    board = bench.live_board()
    old = board.held.session["objectId"]
    bench.revoke(old)
    until(lambda: not _can_log_in(board), "the client to be removed", 30)
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
    until(lambda: not _can_log_in_derived(board), "the client to be removed", 30)


def _can_log_in_derived(board: BoardPlayer) -> bool:
    try:
        Link(board.login()).open().close()
        return True
    except Refused:
        return False


# The people's side.


def test_wrong_password_is_refused(bench):
    path = Path(bench.folder) / "wrong-password"
    path.touch(0o600)
    path.write_text("not the password")
    done = bench.cli("login", "--username", "ada", "--password-file", path)
    assert done.returncode != 0 and done.stderr.strip()
    bench.cli_json("boards", "list")


def test_sessions_survive_a_restart(bench):
    board = bench.live_board()
    bench.server.kill()
    bench.start()
    board.connect(30).beat()
    assert board.publish_data("Reading", "create", b"{}") < 0x80
    assert board.held.session["objectId"] in session_ids(bench.sessions_of(board))


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
