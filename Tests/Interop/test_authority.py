"""The real `postern-authority` and `postern`: claims, and what people ask and see."""

import json
import re
import time
from pathlib import Path

import pytest

from authority_fixtures import bench  # noqa: F401, a fixture
from bench.authority_bench import session_ids
from bench.link import Link, Login, Refused
from bench.waiting import until
from conftest import assert_nothing_leaked
from postern_contract import access_token, base64url, names
from postern_contract.claim_url import ClaimURL
from postern_contract.x25519 import KeyPair

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
    assert provision["authority"]["name"] == "Home"
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
    board.wait_held(after=old)
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
    _spoil("&i=", "&i=../"), lambda url: re.sub("(&i=.{14})4", r"\g<1>1", url), _spoil("#", "#v=1&"),
    lambda url: url.partition("&n=")[0] + "&n=%ff%fe", lambda url: url + "&c=" + "A" * 43,
    lambda url: url.upper(),
], ids=range(15))
def test_malformed_claim_urls_are_refused(bench, spoil):
    board = bench.board()
    words = bench.claim(spoil(board.claim_url)).must_fail()
    assert "claim" in words.lower() or "url" in words.lower() or "Usage" in words
    with pytest.raises(Refused):
        Link(board.login()).open()


def test_claiming_needs_a_login(bench):
    board = bench.board()
    done = bench.cli("--profile-dir", bench.folder / "nobody", "claim", board.claim_url, "--json")
    assert done.returncode != 0 and done.stderr.strip()


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
