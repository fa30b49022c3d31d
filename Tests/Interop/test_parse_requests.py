"""Requests in the forms that Parse's clients send, against the real authority over its store.

Two forms: headers, as Parse's REST guide has them, and the JavaScript SDK's, which sends every
request as a POST of `text/plain` that says in its body who asks and what it would do.
"""

import http.client
import json
import urllib.parse
import uuid

import pytest

from bench.house import House
from house_fixtures import house, measure  # noqa: F401, fixtures

APP = "postern"
PHONE = "0c1d2e3f-4a5b-4c6d-8e7f-8091a2b3c4d5"


@pytest.fixture(scope="module")
def house_settings() -> str:
    return '[users]\nsign_up = "open"\n'


def send(house: House, method: str, path: str, body: str | None, headers: dict):
    connection = http.client.HTTPConnection("127.0.0.1", house.http_port, timeout=60)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def rest(house, method, path, body=None, token=None, request_id=None, **options):
    """As Parse's REST guide writes it with curl, and the Swift SDK."""
    headers = {"X-Parse-Application-Id": APP, "X-Parse-REST-API-Key": "unused",
               "X-Parse-Revocable-Session": "1", "X-Parse-Installation-Id": PHONE}
    if token is not None:
        headers["X-Parse-Session-Token"] = token
    if request_id is not None:
        headers["X-Parse-Request-Id"] = request_id
    if options:
        values = {k: v if isinstance(v, str) else json.dumps(v) for k, v in options.items()}
        path += "?" + urllib.parse.urlencode(values)
    if body is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(body)
    return send(house, method, "/parse" + path, body, headers)


def sdk(house, method, path, body=None, token=None, request_id=None, **options):
    """As the JavaScript SDK's RESTController writes it."""
    form = dict(body or {}, **options, _ApplicationId=APP, _ClientVersion="js6.1.1",
                _InstallationId=PHONE, _RevocableSession="1")
    if method != "POST":
        form["_method"] = method
    if token is not None:
        form["_SessionToken"] = token
    headers = {"Content-Type": "text/plain"}
    if request_id is not None:
        headers["X-Parse-Request-Id"] = request_id
    return send(house, "POST", "/parse" + path, json.dumps(form), headers)


@pytest.mark.parametrize("client", [rest, sdk], ids=["headers", "body"])
def test_a_person_signs_up_lists_sessions_and_ends_one(house, client):
    name = {"username": f"person-{client.__name__}", "password": "a rather long password"}
    status, made = client(house, "POST", "/users", name)
    assert status == 201 and made["sessionToken"].startswith("r:"), made
    house.evidence.add_secret(f"{client.__name__}: first token", made["sessionToken"])
    assert client(house, "POST", "/users", name)[1]["code"] == 202

    status, login = client(house, "GET", "/login", **name)
    assert status == 200 and login["objectId"] == made["objectId"]
    token = login["sessionToken"]
    house.evidence.add_secret(f"{client.__name__}: second token", token)
    # The same installation: the session before is over.
    status, refused = client(house, "GET", "/users/me", token=made["sessionToken"])
    assert (status, refused["code"]) == (400, 209)
    assert client(house, "GET", "/users/me", token=token)[1]["sessionToken"] == token

    status, device = client(house, "POST", "/sessions", {}, token)
    assert status == 201 and device["restricted"] is True
    assert device["createdWith"]["action"] == "create"
    house.evidence.add_secret(f"{client.__name__}: device token", device["sessionToken"])
    status, found = client(house, "GET", "/classes/_Session", token=token, count=1, limit=10,
                           where={"restricted": True}, order="-createdAt")
    assert status == 200 and found["count"] == 1, found
    assert [s["objectId"] for s in found["results"]] == [device["objectId"]]
    assert "sessionToken" not in found["results"][0]

    path = f"/classes/_Session/{device['objectId']}"
    refused = client(house, "DELETE", path, token=device["sessionToken"])
    assert refused[1]["code"] == 119
    assert client(house, "DELETE", path, token=token) == (200, {})
    for method, path in [("GET", "/sessions/me"), ("GET", "/sessions"), ("POST", "/logout")]:
        status, over = client(house, method, path, token=device["sessionToken"])
        assert (status, over["code"]) == (400, 209), path

    assert client(house, "POST", "/logout", {}, token) == (200, {})
    status, over = client(house, "GET", "/sessions/me", token=token)
    assert (status, over["code"]) == (400, 209)


@pytest.mark.parametrize("client", [rest, sdk], ids=["headers", "body"])
def test_a_request_with_an_id_takes_effect_once(house, client):
    name = {"username": f"once-{client.__name__}", "password": "a rather long password"}
    first, second, third = (str(uuid.uuid4()) for _ in range(3))
    status, made = client(house, "POST", "/users", name, request_id=first)
    assert status == 201, made
    token = made["sessionToken"]
    house.evidence.add_secret(f"{client.__name__}: once", token)
    duplicate = (400, {"code": 159, "error": "Duplicate request"})
    assert client(house, "POST", "/users", name, request_id=first) == duplicate
    path = f"/users/{made['objectId']}"
    visit = {"visits": {"__op": "Increment", "amount": 1}}
    assert client(house, "PUT", path, visit, token, request_id=second)[0] == 200
    assert client(house, "PUT", path, visit, token, request_id=second) == duplicate
    # The JavaScript SDK gives ids to what it sends as a POST, so to what it reads, too.
    for _ in range(2):
        status, user = client(house, "GET", "/users/me", token=token, request_id=second)
        assert (status, user["visits"]) == (200, 1)
    batch = {"requests": [{"method": "PUT", "path": "/parse" + path, "body": visit}] * 2}
    assert all("success" in part
               for part in client(house, "POST", "/batch", batch, token, request_id=third)[1])
    again = client(house, "POST", "/batch", batch, token, request_id=third)[1]
    assert [part["error"]["code"] for part in again] == [159, 159]
    assert client(house, "GET", "/users/me", token=token)[1]["visits"] == 3


@pytest.mark.parametrize("client", [rest, sdk], ids=["headers", "body"])
def test_a_dead_token_signs_nobody_up(house, client):
    body = {"username": "nobody", "password": "a rather long password"}
    for token in ["r:gone", "", "x"]:
        status, refused = client(house, "POST", "/users", body, token)
        assert (status, refused["code"]) == (400, 209)
    assert client(house, "POST", "/login", body)[0] == 404


def test_no_secret_was_seen_anywhere(evidence):
    # No board is here, so nothing was heard on the broker: logs and files are searched.
    assert evidence.secrets and evidence.search() == []
