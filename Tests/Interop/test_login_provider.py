"""The real `postern-authority` and somebody else who says who people are."""

import http.client
import json
import subprocess

import pytest

from bench.authority_bench import AuthorityBench
from bench.login_provider import ISSUER, LoginProvider

SECTION = """
[login.{name}]
issuer = "{issuer}"
audience = ["us", "our-app"]
keys = "{keys}"
sign_up = {sign_up}
"""


@pytest.fixture(scope="module")
def provider():
    provider = LoginProvider()
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A provider whose certificate nobody vouches for."""
    file = tmp_path_factory.mktemp("stranger") / "server.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", file,
         "-out", file.with_suffix(".crt")], check=True, capture_output=True)
    file.write_text(file.read_text() + file.with_suffix(".crt").read_text())
    stranger = LoginProvider(file)
    yield stranger
    stranger.close()


@pytest.fixture(scope="module")
def bench(tmp_path_factory, evidence, programs, provider, stranger):
    settings = "".join(
        SECTION.format(name=name, issuer=ISSUER, keys=keys, sign_up=sign_up)
        for name, keys, sign_up in [
            ("facebook", provider.url, "true"), ("closed", provider.url, "false"),
            ("away", "http://127.0.0.1:9/jwks", "true"), ("stranger", stranger.url, "true"),
        ]
    )
    bench = AuthorityBench(tmp_path_factory.mktemp("provider"), evidence, programs, settings)
    yield bench
    bench.close()


def ask(bench, method: str, path: str, body=None, token=None) -> tuple[int, dict]:
    """Parse's REST API, as an app calls it."""
    connection = http.client.HTTPConnection("127.0.0.1", bench.http_port, timeout=60)
    headers = {"X-Parse-Application-Id": "postern", "Content-Type": "application/json"}
    if token:
        headers["X-Parse-Session-Token"] = token
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, f"/parse{path}", text, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def enter(bench, id_token: str, name: str = "facebook", **more) -> tuple[int, dict]:
    bench.evidence.add_secret("id token", id_token)
    return ask(bench, "POST", "/users", {"authData": {name: {"id_token": id_token, **more}}})


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
def test_signs_up_and_then_logs_in(bench, provider, algorithm):
    status, made = enter(bench, provider.token(algorithm, algorithm), id=algorithm)
    assert status == 201, made
    status, again = enter(bench, provider.token(algorithm, algorithm))
    assert (status, again["objectId"]) == (200, made["objectId"])
    status, session = ask(bench, "GET", "/sessions/me", token=again["sessionToken"])
    assert session["createdWith"] == {"action": "login", "authProvider": "facebook"}
    status, me = ask(bench, "GET", "/users/me", token=again["sessionToken"])
    assert me["authData"] == {"facebook": {"id": algorithm}}
    assert provider.fetched <= 2  # one for each of the two names


def test_takes_a_token_once(bench, provider):
    token = provider.token("once")
    assert enter(bench, token)[0] == 201
    status, refused = enter(bench, token)
    assert (status, refused["code"]) == (404, 101)
    assert "it was used already" in refused["error"]


@pytest.mark.parametrize("spoilt", [
    {"iss": ISSUER + "/"}, {"aud": "them"}, {"aud": ["us", "them"]}, {"exp": 1},
    {"nbf": 1 << 33}, {"sub": ""}, {"header": {"alg": "none"}}, {"header": {"alg": "HS256"}},
    {"header": {"kid": "oct"}}, {"header": {"kid": "enc"}}, {"header": {"kid": "ES256"}},
    {"header": {"crit": ["exp"]}}, {"header": {"typ": "at+jwt"}},
], ids=str)
def test_refuses_what_is_spoilt(bench, provider, spoilt):
    status, refused = enter(bench, provider.token("1", **spoilt))
    assert (status, refused["code"]) == (404, 101), refused
    # A success, so that the next tries are not too many.
    assert enter(bench, provider.token("good"))[0] in (200, 201)


def test_links_and_unlinks(bench, provider):
    status, ada = ask(bench, "POST", "/login", {
        "username": "ada", "password": bench.password_file.read_text()})
    assert status == 200
    own, token = f"/users/{ada['objectId']}", ada["sessionToken"]
    assert enter(bench, provider.token("ada"), "closed")[0] == 404
    linked = provider.token("ada")
    bench.evidence.add_secret("id token", linked)
    status, changed = ask(bench, "PUT", own, {"authData": {"closed": {"id_token": linked}}}, token)
    assert (status, list(changed)) == (200, ["updatedAt"])
    status, entered = enter(bench, provider.token("ada"), "closed")
    assert (status, entered["objectId"]) == (200, ada["objectId"])
    # A session for a device changes nothing of its owner.
    status, device = ask(bench, "POST", "/sessions", {}, token)
    status, refused = ask(bench, "PUT", own, {"authData": {"closed": None}},
                          device["sessionToken"])
    assert refused["code"] == 119
    assert ask(bench, "PUT", own, {"authData": {"closed": None}}, token)[0] == 200
    assert enter(bench, provider.token("ada"), "closed")[0] == 404


def test_names_the_layer_of_a_provider_that_is_away(bench, provider):
    status, failed = enter(bench, provider.token("1"), "away")
    assert status == 503
    assert failed["error"].startswith("keys of away: TCP: ")
    assert enter(bench, provider.token("still here"))[0] == 201


def test_believes_no_keys_of_a_server_that_nobody_vouches_for(bench, stranger):
    status, failed = enter(bench, stranger.token("1"), "stranger")
    assert (status, stranger.fetched) == (503, 0)
    assert failed["error"].startswith("keys of stranger: TLS: "), failed


def test_no_token_is_kept_or_logged(bench):
    done = bench.cli("audit", "--json")
    assert done.returncode == 0 and "login.failed" in done.stdout
    assert bench.evidence.search() == []
