"""Passkeys, recovery codes and confirmations at the real `postern-authority`, with an authenticator
in software."""

import os

import pytest

from bench import authenticator
from bench.authenticator import BACKED_UP, PRESENT, VERIFIED, answer, cbor, make
from bench.authority_bench import ADMIN, AuthorityBench
from bench.program import run
from bench.visit import Visit
from postern_contract import base64url


class NamedBench(AuthorityBench):
    """Its page has a name, so that passkeys work, and each visit has an address of its own."""

    def _write_config(self, settings: str, http: str):
        config = super()._write_config(settings, http + 'proxies = ["127.0.0.1"]\n')
        path = config / "authority.toml"
        path.write_text(path.read_text().replace(
            f'public_url = "http://127.0.0.1:{self.http_port}"',
            f'public_url = "http://localhost:{self.http_port}"'))
        return config


@pytest.fixture(scope="module")
def bench(tmp_path_factory, evidence, programs):
    bench = NamedBench(tmp_path_factory.mktemp("passkeys"), evidence, programs)
    yield bench
    bench.close()


def logged_in(bench, username: str = ADMIN, password: str | None = None) -> Visit:
    visit = Visit(bench.http_port)
    visit.must("POST", "/console/login", {
        "username": username, "password": password or bench.password_file.read_text()})
    return visit


def as_admin(bench, method: str, path: str, body=None) -> dict:
    """One request of a visit that ends: a person's oldest login ends at the 32nd, and the bench's
    own is the oldest."""
    visit = logged_in(bench)
    told = visit.must(method, path, body)
    visit.must("POST", "/console/logout")
    return told


_names = iter(range(1000))


@pytest.fixture
def person(bench) -> tuple[str, str]:
    """A user of the test's own: name and password."""
    name, password = f"person{next(_names)}", base64url.encode(os.urandom(18))
    bench.evidence.add_secret("a person's password", password)
    as_admin(bench, "POST", "/users", {
        "username": name, "password": password, "mayClaim": True})
    return name, password


def added(visit: Visit, name: str = "phone", algorithm: str = "ES256", step: int | None = None):
    """A passkey of the visit's user, and what the authority says of it."""
    passkey, response = make(visit.options("register"), visit.origin, algorithm, step=step)
    return passkey, visit.must("POST", "/passkeys", {"name": name, "credential": response})


def enter(bench, passkey, visit: Visit | None = None, **spoilt) -> tuple[Visit, int, dict]:
    """A login with this passkey, from a new visit unless one is given."""
    visit = visit or Visit(bench.http_port)
    response = answer(passkey, visit.options("login"), visit.origin, **spoilt)
    return visit, *visit.ask("POST", "/console/login", {"passkey": response})


def recovered(bench, username: str) -> Visit:
    """A visit that a recovery code opened: nothing in it is confirmed."""
    code = as_admin(bench, "POST", f"/users/{username}/recovery-code")["recoveryCode"]
    bench.evidence.add_secret("a recovery code", code)
    visit = Visit(bench.http_port)
    visit.must("POST", "/console/login", {"username": username, "recoveryCode": code})
    return visit


def events(bench, actor: str) -> list[str]:
    """The newest first."""
    entries = as_admin(bench, "GET", f"/audit?actor={actor}")["results"]
    return [entry["event"] for entry in entries]


# What works.

def test_info_says_what_can_be_used(bench):
    told = Visit(bench.http_port).must("GET", "/info")["login"]
    assert told == {"passwords": True, "passkeys": True, "passkeyProblem": None,
                    "origin": f"http://localhost:{bench.http_port}", "providers": []}


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
def test_a_passkey_is_added_and_logs_in(bench, person, algorithm):
    owner = logged_in(bench, *person)
    options = owner.options("register")
    assert options["rp"] == {"id": "localhost", "name": "Home"}
    assert options["attestation"] == "none"
    assert [p["alg"] for p in options["pubKeyCredParams"]] == [-7, -8, -257]
    assert options["authenticatorSelection"]["userVerification"] == "required"
    passkey, told = added(owner, "my phone", algorithm)
    assert (told["name"], told["lastUsedAt"]) == ("my phone", None)
    assert passkey.user.decode() != person[0]

    visit, status, login = enter(bench, passkey)
    assert (status, login["user"]["username"]) == (200, person[0]), login
    assert login["session"]["createdWith"] == {"action": "login", "authProvider": "passkey"}
    assert "sessionToken" not in login["session"]
    ways = visit.must("GET", "/passkeys")
    assert [(p["id"], p["name"]) for p in ways["results"]] == [(told["id"], "my phone")]
    assert ways["results"][0]["lastUsedAt"] >= told["createdAt"]
    assert (ways["password"], ways["recoveryCodeAt"]) == (True, None)
    # It is known now, so an authenticator is asked not to make another.
    known = visit.options("register")["excludeCredentials"]
    assert [base64url.decode(c["id"]) for c in known] == [passkey.id]


def test_several_are_named_and_removed(bench, person):
    visit = logged_in(bench, *person)
    first, phone = added(visit, "phone")
    second, key = added(visit, "key")
    visit.must("PUT", f"/passkeys/{phone['id']}", {"name": "old phone"})
    assert [p["name"] for p in visit.must("GET", "/passkeys")["results"]] == ["old phone", "key"]
    visit.must("DELETE", f"/passkeys/{phone['id']}")
    assert [p["name"] for p in visit.must("GET", "/passkeys")["results"]] == ["key"]
    assert enter(bench, first)[1] == 404
    assert enter(bench, second)[1] == 200
    assert {"passkey.added", "passkey.renamed", "passkey.removed",
            "login"} <= set(events(bench, person[0]))


def test_nobody_changes_the_passkeys_of_others(bench, person):
    passkey, told = added(logged_in(bench, *person))
    other = logged_in(bench)
    assert other.refusal("PUT", f"/passkeys/{told['id']}", {"name": "mine"})["code"] == 101
    assert other.refusal("DELETE", f"/passkeys/{told['id']}")["code"] == 101
    # Nor does it confirm for another.
    added(other, "ada's")
    response = answer(passkey, other.options("confirm"), other.origin)
    refused = other.refusal("POST", "/console/confirm", {"passkey": response})
    assert "another user" in refused["error"]


def test_a_known_passkey_is_not_added_again(bench, person):
    visit = logged_in(bench, *person)
    options = visit.options("register")
    passkey, response = make(options, visit.origin)
    visit.must("POST", "/passkeys", {"name": "phone", "credential": response})
    thief = logged_in(bench)
    again = make(thief.options("register"), thief.origin)[1]
    data = authenticator.authenticator_data(
        "localhost", PRESENT | VERIFIED | authenticator.CREDENTIAL, 0,
        bytes(16) + len(passkey.id).to_bytes(2, "big") + passkey.id + cbor(passkey.cose()))
    again["id"] = again["rawId"] = base64url.encode(passkey.id)
    again["response"]["attestationObject"] = base64url.encode(
        cbor({"fmt": "none", "attStmt": {}, "authData": data}))
    refused = thief.refusal("POST", "/passkeys", {"name": "theirs", "credential": again})
    assert "registered already" in refused["error"]


# What is refused at a login.

SPOILT_LOGINS = {
    "another origin": ({"origin": "http://localhost:1"}, "another address"),
    "an origin with https": ({"origin": "https://localhost"}, "another address"),
    "a frame": ({"crossOrigin": True}, "inside another site"),
    "a frame of a named site": ({"topOrigin": "http://evil.example"}, "inside another site"),
    "another RP id": ({"rp_id": "evil.example"}, "another site"),
    "no user verification": ({"flags": PRESENT}, "who its user is"),
    "no presence": ({"flags": VERIFIED}, "touched"),
    "backed up but not eligible": ({"flags": PRESENT | VERIFIED | BACKED_UP}, "backups"),
    "a registration": ({"type": "webauthn.create"}, "something else"),
    "another challenge": ({"challenge": "AAAA"}, "challenge"),
    "no user": ({"user": b""}, "another user"),
    "another user": ({"user": b"aaaaaaaaaa"}, "another user"),
    "bytes behind the data": ({"rest": b"\x00"}, "malformed"),
    "extensions that are none": ({"flags": 0x85, "rest": b"\x01"}, "malformed"),
    "short data": ({"data": bytes(36)}, "malformed"),
    "no signature": ({"signature": b""}, "signature"),
    "a raw signature": ({"signature": bytes(64)}, "signature"),
}


@pytest.mark.parametrize("spoilt", SPOILT_LOGINS)
def test_a_spoilt_login_is_refused(bench, person, spoilt):
    changes, words = SPOILT_LOGINS[spoilt]
    passkey, _ = added(logged_in(bench, *person))
    visit, status, refused = enter(bench, passkey, **changes)
    assert (status, refused["code"], refused["name"]) == (404, 101, "passkey-refused"), refused
    assert words in refused["error"]
    assert "postern_session" not in visit.cookies
    assert enter(bench, passkey)[1] == 200


@pytest.mark.parametrize("signing", ["ES256", "EdDSA", "RS256"])
@pytest.mark.parametrize("held", ["ES256", "EdDSA", "RS256"])
def test_a_key_of_another_algorithm_signs_nothing(bench, person, held, signing):
    visit = logged_in(bench, *person)
    passkey, _ = added(visit, "held", held)
    signer, _ = added(visit, "signing", signing)
    _, status, refused = enter(bench, passkey, signer=signer)
    assert (status, refused["name"]) == (404, "passkey-refused")
    assert "signature" in refused["error"]


def test_an_unknown_passkey_is_refused(bench, person):
    visit = logged_in(bench, *person)
    passkey, _ = make(visit.options("register"), visit.origin)
    _, status, refused = enter(bench, passkey)
    assert (status, refused["name"]) == (404, "passkey-refused")


def test_a_challenge_serves_once(bench, person):
    passkey, _ = added(logged_in(bench, *person))
    visit = Visit(bench.http_port)
    response = answer(passkey, visit.options("login"), visit.origin)
    visit.must("POST", "/console/login", {"passkey": response})
    refused = visit.refusal("POST", "/console/login", {"passkey": response})
    assert "challenge" in refused["error"]


def test_a_refused_answer_has_spent_its_challenge(bench, person):
    passkey, _ = added(logged_in(bench, *person))
    visit = Visit(bench.http_port)
    options = visit.options("login")
    bad = answer(passkey, options, visit.origin, flags=PRESENT)
    visit.refusal("POST", "/console/login", {"passkey": bad})
    good = answer(passkey, options, visit.origin)
    assert "challenge" in visit.refusal("POST", "/console/login", {"passkey": good})["error"]


def test_a_challenge_serves_only_its_visit_and_its_purpose(bench, person):
    owner = logged_in(bench, *person)
    passkey, _ = added(owner)
    visit, other = Visit(bench.http_port), Visit(bench.http_port)
    response = answer(passkey, visit.options("login"), visit.origin)
    # No cookie, then the cookie of another visit.
    assert "challenge" in other.refusal("POST", "/console/login", {"passkey": response})["error"]
    other.options("login")
    assert "challenge" in other.refusal("POST", "/console/login", {"passkey": response})["error"]
    # A login's answer confirms nothing, and a confirmation's answer logs nobody in.
    login = answer(passkey, owner.options("login"), owner.origin)
    assert "challenge" in owner.refusal("POST", "/console/confirm", {"passkey": login})["error"]
    confirmation = answer(passkey, owner.options("confirm"), owner.origin)
    refused = owner.refusal("POST", "/console/login", {"passkey": confirmation})
    assert "challenge" in refused["error"]
    # The cookie of another session of the same person.
    second = logged_in(bench, *person)
    response = answer(passkey, owner.options("confirm"), owner.origin)
    second.cookies["postern_passkey"] = owner.cookies["postern_passkey"]
    refused = second.refusal("POST", "/console/confirm", {"passkey": response})
    assert "challenge" in refused["error"]


def test_a_changed_cookie_serves_nothing(bench, person):
    passkey, _ = added(logged_in(bench, *person))
    for change in ("A" * 94, "", "A", "é", "x" * 4000):
        visit = Visit(bench.http_port)
        response = answer(passkey, visit.options("login"), visit.origin)
        cookie = visit.cookies["postern_passkey"]
        visit.cookies["postern_passkey"] = change.encode().decode("latin-1") or "AA" + cookie[2:]
        refused = visit.refusal("POST", "/console/login", {"passkey": response})
        assert "challenge" in refused["error"]


def test_a_clone_is_found_by_its_counter(bench, person):
    passkey, _ = added(logged_in(bench, *person), step=1)
    assert enter(bench, passkey)[1] == 200
    copy = authenticator.Passkey(**vars(passkey))
    assert enter(bench, passkey)[1] == 200
    _, status, refused = enter(bench, copy)
    assert (status, refused["name"]) == (404, "passkey-refused")
    assert "copy" in refused["error"]
    _, status, _ = enter(bench, passkey, counter=0)
    assert status == 404
    # The one that goes on counting still serves.
    assert enter(bench, passkey)[1] == 200
    assert events(bench, person[0]).count("passkey.cloned") == 2


def test_too_many_tries_are_refused(bench, person):
    passkey, _ = added(logged_in(bench, *person))
    visit = Visit(bench.http_port)
    for _ in range(10):
        assert enter(bench, passkey, visit, flags=PRESENT)[1] == 404
    _, status, refused = enter(bench, passkey, visit)
    assert (status, refused["code"]) == (429, 155)
    # Elsewhere nothing was counted.
    assert enter(bench, passkey)[1] == 200


# What is refused at a registration.

X = bytes(range(1, 33))
SPOILT_REGISTRATIONS = {
    "no user verification": ({"flags": PRESENT}, "who its user is"),
    "another origin": ({"origin": "http://evil.example"}, "another address"),
    "another RP id": ({"rp_id": "evil.example"}, "another site"),
    "a login": ({"type": "webauthn.get"}, "something else"),
    "another challenge": ({"challenge": "AAAA"}, "challenge"),
    "another id": ({"said_id": b"other"}, "malformed"),
    "an attestation": ({"format_": "packed", "statement": {"alg": -7, "sig": b"x"}},
                       "attestation"),
    "a statement without a format": ({"statement": {"alg": -7}}, "attestation"),
    "a point off the curve": ({"cose": {1: 2, 3: -7, -1: 1, -2: X, -3: X}}, "kind of key"),
    "a point of small order": ({"cose": {1: 1, 3: -8, -1: 6, -2: bytes(32)}}, "kind of key"),
    "a short RSA key": ({"cose": {1: 3, 3: -257, -1: b"\xff" * 128, -2: b"\x01\x00\x01"}},
                        "kind of key"),
    "ES384": ({"cose": {1: 2, 3: -35, -1: 2, -2: X, -3: X}}, "kind of key"),
    "ES256 that says EdDSA": ({"cose": {1: 2, 3: -8, -1: 1, -2: X, -3: X}}, "kind of key"),
    "a private half": ({"cose": {1: 1, 3: -8, -1: 6, -2: X, -4: X}}, "malformed"),
}


@pytest.mark.parametrize("spoilt", SPOILT_REGISTRATIONS)
def test_a_spoilt_registration_is_refused(bench, person, spoilt):
    changes, words = SPOILT_REGISTRATIONS[spoilt]
    visit = logged_in(bench, *person)
    _, response = make(visit.options("register"), visit.origin, **changes)
    refused = visit.refusal("POST", "/passkeys", {"name": "phone", "credential": response})
    assert refused["name"] == "passkey-refused"
    assert words in refused["error"]
    assert visit.must("GET", "/passkeys")["results"] == []
    added(visit)


MALFORMED = {
    "nothing": b"", "a number": b"\x00", "an empty map": b"\xa0", "a break": b"\xff",
    "an endless map": b"\xbf" + cbor("fmt") + cbor("none") + b"\xff",
    "a length beyond the end": b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff",
    "a count beyond the end": b"\xbb\x00\x00\x00\x00\xff\xff\xff\xff",
    "an array of 2^32": b"\x9a\xff\xff\xff\xff", "deep": b"\x81" * 3000,
    "deep in a map": b"\xa1\x61a" * 900, "a long length": b"\xb9\x00\x03",
    "a float": cbor({"fmt": "none"})[:-5] + b"\xfb" + bytes(8),
    "a tag": b"\xc0\xa0", "bad text": b"\xa1\x61\xff\x00",
    "two formats": b"\xa4" + cbor("fmt") + cbor("none") + cbor("fmt") + cbor("none")
                   + cbor("attStmt") + b"\xa0" + cbor("authData") + cbor(bytes(37)),
    "one member more": cbor({"fmt": "none", "attStmt": {}, "authData": bytes(37), "x": 1}),
    "one member less": cbor({"fmt": "none", "authData": bytes(37)}),
    "numbers for keys": cbor({1: "none", 2: bytes(37), 3: {}}),
    "short data": cbor({"fmt": "none", "attStmt": {}, "authData": bytes(36)}),
    "no credential": cbor({"fmt": "none", "attStmt": {}, "authData":
                           authenticator.authenticator_data("localhost", PRESENT | VERIFIED, 0)}),
    "text for data": cbor({"fmt": "none", "attStmt": {}, "authData": "x" * 37}),
    "large": cbor({"fmt": "none", "attStmt": {}, "authData": bytes(9000)}),
}


def test_malformed_cbor_is_refused(bench, person):
    for name, attestation in MALFORMED.items():
        # An address has ten tries.
        visit = logged_in(bench, *person)
        _, response = make(visit.options("register"), visit.origin, attestation=attestation)
        refused = visit.refusal("POST", "/passkeys", {"name": "phone", "credential": response})
        assert refused["name"] == "passkey-refused", name
        assert "malformed" in refused["error"], (name, refused)
    # A good object with any byte more or less.
    _, response = make(visit.options("register"), visit.origin)
    whole = base64url.decode(response["response"]["attestationObject"])
    visit = logged_in(bench, *person)
    for spoilt in (whole + b"\x00", whole[:-1], whole[1:]):
        _, response = make(visit.options("register"), visit.origin, attestation=spoilt)
        refused = visit.refusal("POST", "/passkeys", {"name": "phone", "credential": response})
        assert "malformed" in refused["error"]
    added(visit)
    assert bench.server.is_running


def test_failed_registrations_are_limited(bench, person):
    visit = logged_in(bench, *person)
    for _ in range(10):
        _, response = make(visit.options("register"), visit.origin, attestation=b"")
        spoilt = {"name": "phone", "credential": response}
        assert visit.refusal("POST", "/passkeys", spoilt)["name"] == "passkey-refused"
    _, response = make(visit.options("register"), visit.origin)
    good = {"name": "phone", "credential": response}
    assert visit.refusal("POST", "/passkeys", good)["code"] == 155


@pytest.mark.parametrize("credential", [
    None, [], {}, {"id": "AA", "type": "public-key"},
    {"id": "AA", "type": "password", "response": {"clientDataJSON": "", "attestationObject": ""}},
    {"id": "AA", "rawId": "AQ", "type": "public-key",
     "response": {"clientDataJSON": "", "attestationObject": ""}},
    {"id": "A", "type": "public-key",
     "response": {"clientDataJSON": "", "attestationObject": ""}},
    {"id": "AA", "type": "public-key",
     "response": {"clientDataJSON": "%%", "attestationObject": ""}},
], ids=str)
def test_what_is_no_credential_is_refused(bench, person, credential):
    visit = logged_in(bench, *person)
    visit.options("register")
    told = visit.refusal("POST", "/passkeys", {"name": "phone", "credential": credential})
    assert told["code"] in (111, 142)


# Confirmations.

def test_a_recovery_code_logs_in_once_and_confirms_nothing(bench, person):
    name, password = person
    code = as_admin(bench, "POST", f"/users/{name}/recovery-code")["recoveryCode"]
    visit = Visit(bench.http_port)
    wrong = {"username": name, "recoveryCode": "0" * 25}
    assert visit.refusal("POST", "/console/login", wrong)["code"] == 101
    stranger = {"username": ADMIN, "recoveryCode": code}
    assert visit.refusal("POST", "/console/login", stranger)["code"] == 101
    # As a person types it.
    typed = {"username": name, "recoveryCode": code.lower().replace("-", " ")}
    told = visit.must("POST", "/console/login", typed)
    assert told["session"]["createdWith"]["authProvider"] == "recovery"
    again = Visit(bench.http_port)
    assert again.refusal("POST", "/console/login", typed)["code"] == 101

    # What cannot be undone waits for a password or a passkey.
    refused = visit.refusal("POST", f"/users/{name}/recovery-code")
    assert (refused["code"], refused["name"]) == (142, "confirmation-needed")
    assert visit.refusal("POST", "/console/confirm", {"password": "wrong"})["code"] == 101
    assert visit.refusal("POST", f"/users/{name}/recovery-code")["name"] == "confirmation-needed"
    visit.must("POST", "/console/confirm", {"password": password})
    visit.must("POST", f"/users/{name}/recovery-code")


def test_a_recovery_code_lets_its_user_add_a_passkey(bench, person):
    visit = recovered(bench, person[0])
    passkey, told = added(visit)
    # The new passkey confirms.
    assert visit.refusal("DELETE", f"/passkeys/{told['id']}")["name"] == "confirmation-needed"
    response = answer(passkey, visit.options("confirm"), visit.origin)
    visit.must("POST", "/console/confirm", {"passkey": response})
    visit.must("DELETE", f"/passkeys/{told['id']}")
    assert {"recovery.used", "passkey.added", "login.confirmed",
            "passkey.removed"} <= set(events(bench, person[0]))


def test_a_newer_recovery_code_replaces_the_earlier(bench, person):
    admin = logged_in(bench)
    codes = [admin.must("POST", f"/users/{person[0]}/recovery-code")["recoveryCode"]
             for _ in range(2)]
    visit = Visit(bench.http_port)
    old, new = ({"username": person[0], "recoveryCode": code} for code in codes)
    assert visit.refusal("POST", "/console/login", old)["code"] == 101
    visit.must("POST", "/console/login", new)
    # A user makes one of their own, and none for others.
    user = logged_in(bench, *person)
    assert user.refusal("POST", f"/users/{ADMIN}/recovery-code")["code"] == 119
    user.must("POST", f"/users/{person[0]}/recovery-code")
    assert user.must("GET", "/passkeys")["recoveryCodeAt"] is not None


def test_the_page_asks_before_what_cannot_be_undone(bench, person):
    """The same acts by a program's session are not asked for: it has no person to ask."""
    board = bench.live_board("cellar")
    visit = recovered(bench, ADMIN)
    session = bench.sessions_of(board)[0]["objectId"]
    acts = [
        ("DELETE", f"/boards/{board.iid}", None), ("DELETE", f"/sessions/{session}", None),
        ("POST", f"/users/{person[0]}/revoke", {}),
        ("PUT", f"/users/{person[0]}", {"enabled": False}),
        ("PUT", f"/users/{person[0]}/password", {"password": "a new password"}),
        ("POST", f"/sessions/{session}/extend", {"durationSeconds": 3600, "shorten": True}),
        ("POST", "/users", {"username": "eve", "password": "another one", "isAdministrator": True}),
    ]
    for act in acts:
        assert visit.refusal(*act)["name"] == "confirmation-needed", act
    passkey, _ = added(visit, "the page's")
    response = answer(passkey, visit.options("confirm"), visit.origin)
    visit.must("POST", "/console/confirm", {"passkey": response})
    for act in reversed(acts):
        visit.must(*act)
    another = bench.live_board("attic")
    bench.revoke(bench.sessions_of(another)[0]["objectId"])


# The last way to log in, and passwords switched off.

def test_passwords_can_be_switched_off(tmp_path, evidence, programs):
    folder = tmp_path / "closed"
    folder.mkdir()
    closed = NamedBench(folder, evidence, programs)
    try:
        close_passwords(closed)
    finally:
        closed.close()


def close_passwords(closed: NamedBench) -> None:
    visit = logged_in(closed)
    file = closed.config / "authority.toml"
    closed.server.stop()
    file.write_text(file.read_text() + "[login]\npasswords = false\n")

    # Nobody could log in, so it does not start.
    argv = [closed.programs / "postern-authority", "--config-dir", closed.config]
    done = run([*argv, "serve"], timeout=60)
    assert done.returncode == 78
    assert "would lock every administrator out" in done.stderr

    # A recovery code is a way in.
    code = run([*argv, "user", "recovery-code", ADMIN], timeout=60).stdout.strip()
    closed.evidence.add_secret("a recovery code", code)
    closed.start()
    assert visit.must("GET", "/info")["login"]["passwords"] is False
    entered = Visit(closed.http_port)
    password = {"username": ADMIN, "password": closed.password_file.read_text()}
    refused = entered.refusal("POST", "/console/login", password)
    assert (refused["code"], refused["name"]) == (119, "passwords-off")
    assert entered.refusal("POST", "/login", password)["name"] == "passwords-off"
    entered.must("POST", "/console/login", {"username": ADMIN, "recoveryCode": code})
    ways = entered.must("GET", "/passkeys")
    assert (ways["password"], ways["recoveryCodeAt"]) == (False, None)
    passkey, told = added(entered)
    entered.refusal("POST", "/console/confirm", {"password": password["password"]})
    response = answer(passkey, entered.options("confirm"), entered.origin)
    entered.must("POST", "/console/confirm", {"passkey": response})

    # It is the last way to log in. A second one may go.
    refused = entered.refusal("DELETE", f"/passkeys/{told['id']}")
    assert (refused["code"], refused["name"]) == (142, "last-way-in")
    _, second = added(entered, "key")
    entered.must("DELETE", f"/passkeys/{second['id']}")
    assert enter(closed, passkey)[1] == 200

    # With a passkey it starts without a code.
    closed.server.stop()
    closed.start()
    assert enter(closed, passkey)[1] == 200


def test_where_passkeys_cannot_work_they_say_why(tmp_path, evidence, programs):
    bench = AuthorityBench(tmp_path, evidence, programs)
    try:
        visit = Visit(bench.http_port)
        told = visit.must("GET", "/info")["login"]
        assert (told["passkeys"], told["passkeyProblem"]) == (False, "address")
        refused = visit.refusal("POST", "/passkeys/options", {"purpose": "login"})
        assert refused["name"] == "passkeys-unavailable"
    finally:
        bench.close()


def test_no_secret_is_in_a_log(bench, evidence):
    assert evidence.secrets
    assert evidence.search() == []
