"""Programs that were written for Parse, against the authority, unchanged.

ParsePy (PyPI) is run as it is; what Parse's JavaScript SDK sends is played from its recorded
form. All they are told is where the server is.
"""

import base64
import json
import secrets
import unicodedata
import urllib.error
import urllib.request
import uuid

import pytest

from bench.authority_bench import ADMIN, AuthorityBench
from bench.program import run
from parse_fixtures import javascript, parsepy

KEY = "rest-" + "k" * 24
PAGE = "https://app.example"
SETTINGS = """
[users]
sign_up = "open"
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory, evidence, programs):
    """An authority as Parse's hosted servers were: under /1, with a REST key."""
    bench = AuthorityBench(tmp_path_factory.mktemp("parse"), evidence, programs, SETTINGS,
                           f'mount = "/1"\nrest_api_key = "{KEY}"\norigins = ["{PAGE}"]\n')
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def parse(bench):
    with parsepy(f"http://127.0.0.1:{bench.http_port}/1", KEY) as modules:
        yield modules


@pytest.fixture(autouse=True)
def nobody_logged_in(parse):
    yield
    parse.connection.ACCESS_KEYS.pop("session_token", None)


def as_user(parse, user) -> None:
    parse.connection.ACCESS_KEYS["session_token"] = user.sessionToken


def new_user(parse, evidence):
    name, password = f"user-{secrets.token_hex(4)}", secrets.token_urlsafe(16)
    evidence.add_secret("a password", password)
    user = parse.user.User.signup(name, password)
    evidence.add_secret("a session token", user.sessionToken)
    return user, name, password


def sessions(parse):
    """`_Session` as an app would declare it for ParsePy."""
    return type("Sessions", (parse.datatypes.ParseResource,),
                {"ENDPOINT_ROOT": f"{parse.connection.API_ROOT}/sessions"})


# ParsePy.


def test_an_app_signs_up_and_logs_in(parse, evidence):
    user, name, password = new_user(parse, evidence)
    again = parse.user.User.login(name, password)
    assert again.objectId == user.objectId
    assert again.sessionToken.startswith("r:") and again.sessionToken != user.sessionToken
    as_user(parse, again)
    assert parse.user.User.current_user().username == name


def test_a_wrong_password_is_parses_own_error(parse, evidence):
    _, name, _ = new_user(parse, evidence)
    with pytest.raises(parse.core.ResourceRequestNotFound) as refused:
        parse.user.User.login(name, "not the password")
    assert json.loads(refused.value.args[0])["code"] == 101


def test_an_app_lists_and_ends_sessions(parse, evidence):
    user, name, password = new_user(parse, evidence)
    other = parse.user.User.login(name, password)
    evidence.add_secret("a session token", other.sessionToken)
    as_user(parse, user)
    Sessions = sessions(parse)
    found = Sessions.GET(Sessions.ENDPOINT_ROOT)["results"]
    assert len(found) == 2 and not any("sessionToken" in s for s in found)
    own = Sessions.GET(f"{Sessions.ENDPOINT_ROOT}/me")
    [foreign] = [s for s in found if s["objectId"] != own["objectId"]]
    Sessions.DELETE(f"{Sessions.ENDPOINT_ROOT}/{foreign['objectId']}")
    left = Sessions.GET(Sessions.ENDPOINT_ROOT, where=json.dumps({"restricted": False}))
    assert [s["objectId"] for s in left["results"]] == [own["objectId"]]
    assert Sessions.GET(Sessions.ENDPOINT_ROOT, count=1, limit=0)["count"] == 1


def test_a_session_that_was_ended_is_209_everywhere(parse, evidence):
    user, _, _ = new_user(parse, evidence)
    as_user(parse, user)
    parse.user.User.POST(f"{parse.connection.API_ROOT}/logout")
    for path in ("users/me", "sessions", "sessions/me", "roles"):
        with pytest.raises(parse.core.ResourceRequestBadRequest) as over:
            parse.user.User.GET(f"{parse.connection.API_ROOT}/{path}")
        assert json.loads(over.value.args[0])["code"] == 209, path


def test_an_app_gives_a_device_a_session(parse, evidence):
    user, name, _ = new_user(parse, evidence)
    as_user(parse, user)
    Sessions = sessions(parse)
    made = Sessions.POST(Sessions.ENDPOINT_ROOT, restricted=False, deviceName="lamp")
    evidence.add_secret("a session token", made["sessionToken"])
    assert made["restricted"] is True and made["createdWith"]["action"] == "create"
    parse.connection.ACCESS_KEYS["session_token"] = made["sessionToken"]
    assert parse.user.User.current_user().username == name
    with pytest.raises(parse.core.ResourceRequestBadRequest) as refused:
        parse.user.User.PUT(f"{parse.connection.API_ROOT}/users/{user.objectId}", password="x" * 9)
    assert json.loads(refused.value.args[0])["code"] == 119
    assert all(s["restricted"] for s in Sessions.GET(Sessions.ENDPOINT_ROOT)["results"])


def test_an_app_registers_its_installation(parse, evidence):
    user, _, _ = new_user(parse, evidence)
    as_user(parse, user)
    Installation = parse.installation.Installation
    made = Installation.POST("", deviceType="android", channels=["a"],
                             installationId="3f1f7c0e-2b7a-4d4e-9c55-0123456789ab")
    Installation.update_channels(made["objectId"], channels_to_add={"b"})
    kept = Installation.GET(f"{Installation.ENDPOINT_ROOT}/{made['objectId']}")
    assert sorted(kept["channels"]) == ["a", "b"]


def test_an_app_keeps_what_it_knows_of_its_user(parse, evidence):
    """ParsePy's save sends all that it knows, also what the server said."""
    name = f"ana+{secrets.token_hex(4)}@example.com"
    password = secrets.token_urlsafe(16)
    evidence.add_secret("a password", password)
    made = parse.user.User.signup(name, password, email=name, phone="555-1234", visits=1)
    user = parse.user.User.login(name, password)
    for opened in (made, user):
        evidence.add_secret("a session token", opened.sessionToken)
    assert (user.username, user.email, user.phone, user.visits) == (name, name, "555-1234", 1)
    before = user.updatedAt
    as_user(parse, user)
    user.phone, user.colour = "555-4321", "grün"
    user.save()
    again = parse.user.User.current_user()
    assert (again.phone, again.colour, again.visits) == ("555-4321", "grün", 1)
    assert again.updatedAt > before
    [found] = parse.user.User.Query.filter(colour="grün")
    assert found.objectId == user.objectId
    parse.user.User.PUT(user._absolute_url, visits={"__op": "Increment", "amount": 2})
    assert parse.user.User.current_user().visits == 3


def test_names_that_look_the_same_are_one(parse, evidence):
    name = f"José {secrets.token_hex(4)}"
    password = secrets.token_urlsafe(16)
    evidence.add_secret("a password", password)
    user = parse.user.User.signup(name, password)
    evidence.add_secret("a session token", user.sessionToken)
    again = parse.user.User.login(unicodedata.normalize("NFD", name), password)
    evidence.add_secret("a session token", again.sessionToken)
    assert again.objectId == user.objectId
    for taken in (name.upper(), unicodedata.normalize("NFD", name), f" {name} "):
        with pytest.raises(parse.core.ResourceRequestBadRequest) as refused:
            parse.user.User.signup(taken, password)
        assert json.loads(refused.value.args[0])["code"] == 202


# The JavaScript SDK.


def sdk(bench, method: str, path: str, token: str | None = None, **body):
    return javascript(f"http://127.0.0.1:{bench.http_port}/1", KEY, method, path, token, **body)


def test_the_javascript_sdk_logs_in_and_reads_its_session(bench, parse, evidence):
    _, name, password = new_user(parse, evidence)
    status, user = sdk(bench, "POST", "login", username=name, password=password)
    assert status == 200
    evidence.add_secret("a session token", user["sessionToken"])
    token = user["sessionToken"]
    assert sdk(bench, "GET", "users/me", token)[1]["username"] == name
    status, own = sdk(bench, "GET", "sessions/me", token)
    assert own["installationId"] == "5b3ecb6e-5d8a-4a9e-8f0e-0123456789ab"
    status, found = sdk(bench, "GET", "sessions", token, where={"objectId": own["objectId"]})
    assert [s["objectId"] for s in found["results"]] == [own["objectId"]]
    assert sdk(bench, "POST", "logout", token)[0] == 200
    status, refused = sdk(bench, "GET", "users/me", token)
    assert (status, refused["code"]) == (400, 209)


def test_the_javascript_sdk_is_not_let_past_a_restricted_session(bench, parse, evidence):
    user, _, _ = new_user(parse, evidence)
    made = sdk(bench, "POST", "sessions", user.sessionToken)[1]
    evidence.add_secret("a session token", made["sessionToken"])
    token = made["sessionToken"]
    for method, path in [("PUT", f"users/{user.objectId}"), ("DELETE", f"users/{user.objectId}"),
                         ("POST", "roles"), ("POST", "sessions"), ("POST", "classes/_User")]:
        status, refused = sdk(bench, method, path, token, password="x" * 9, name="r")
        assert (status, refused.get("code")) == (400, 119), (method, path)
    status, found = sdk(bench, "GET", "sessions", token, where={"restricted": False})
    assert found["results"] == []


def test_the_javascript_sdk_names_an_anonymous_user(bench, evidence):
    """`AnonymousUtils.logIn()`, then `user.signUp()`, `setPassword`, `save()`."""
    anonymous = {"anonymous": {"id": str(uuid.uuid4())}}
    status, user = sdk(bench, "POST", "users", authData=anonymous)
    token = user["sessionToken"]
    evidence.add_secret("a session token", token)
    assert status == 201
    name, password = f"js+{secrets.token_hex(4)}@example.com", secrets.token_urlsafe(16)
    evidence.add_secret("a password", password)
    status, saved = sdk(bench, "PUT", f"users/{user['objectId']}", token, username=name,
                        password=password, authData={"anonymous": None}, email=name)
    assert status == 200 and saved["updatedAt"] and saved["sessionToken"] == token, saved
    status, me = sdk(bench, "GET", "users/me", token)
    assert (me["objectId"], me["username"], me["email"]) == (user["objectId"], name, name)
    status, again = sdk(bench, "POST", "login", username=name, password=password)
    evidence.add_secret("a session token", again["sessionToken"])
    assert (status, again["objectId"]) == (200, user["objectId"])
    new = secrets.token_urlsafe(16)
    evidence.add_secret("a password", new)
    status, saved = sdk(bench, "PUT", f"users/{user['objectId']}", again["sessionToken"],
                        password=new)
    assert status == 200, saved
    assert sdk(bench, "GET", "users/me", token)[1]["code"] == 209
    assert sdk(bench, "POST", "login", username=name, password=password)[1]["code"] == 101
    status, other = sdk(bench, "POST", "users", authData=anonymous)
    evidence.add_secret("a session token", other["sessionToken"])
    assert (status, other["objectId"] != user["objectId"]) == (201, True)


def test_the_javascript_sdk_subscribes_its_installation(bench):
    iid = str(uuid.uuid4())
    channels = {"__op": "AddUnique", "objects": ["news", "Lamp_1-b"]}
    status, made = sdk(bench, "POST", "installations", installationId=iid, deviceType="js",
                       channels=channels, badge={"__op": "Increment", "amount": 1},
                       _InstallationId=iid)
    assert (status, made["channels"], made["badge"]) == (201, ["news", "Lamp_1-b"], 1)
    path = f"installations/{made['objectId']}"
    status, saved = sdk(bench, "PUT", path, channels={"__op": "Remove", "objects": ["news"]},
                        badge=0, _InstallationId=iid)
    assert (status, saved["channels"], "badge" in saved) == (200, ["Lamp_1-b"], False)
    for members, code in ({"channels": ["a b"]}, 112), ({"badge": "1"}, 111), \
            ({"user": {"__type": "Pointer", "className": "_User", "objectId": "a"}}, 119), \
            ({"ACL": {"*": {"read": True}}}, 119):
        status, refused = sdk(bench, "PUT", path, _InstallationId=iid, **members)
        assert (status, refused["code"]) == (400, code), members
        assert next(iter(members))[:7] in refused["error"], refused


def test_a_batch_is_judged_request_by_request(bench, parse, evidence):
    user, _, _ = new_user(parse, evidence)
    requests = [{"method": "GET", "path": "/1/users/me"},
                {"method": "DELETE", "path": f"/1/users/{user.objectId}"},
                {"method": "POST", "path": "/1/batch", "body": {"requests": []}}]
    status, answers = sdk(bench, "POST", "batch", user.sessionToken, requests=requests)
    assert status == 200
    assert answers[0]["success"]["objectId"] == user.objectId
    assert [a["error"]["code"] for a in answers[1:]] == [119, answers[2]["error"]["code"]]
    status, refused = sdk(bench, "POST", "batch", "r:" + "A" * 43, requests=requests[:1])
    assert refused["code"] == 209 if status == 400 else refused[0]["error"]["code"] == 209


def test_any_name_goes_through_the_programs_and_the_broker(bench, evidence):
    """A name of a user is in no topic and no broker login, whatever it looks like."""
    for number, name in enumerate(["ana+lamp@example.com", "#", "+/#", "Ana  O'Brien $(id)",
                                   "王小明 é", "-lamp"]):
        file = bench._write_password(f"password-{number}")
        added = bench.cli("users", "add", "--password-file", file, "--", name)
        assert added.returncode == 0, added.stderr
        profile = bench.folder / f"profile-{number}"
        done = bench.cli("login", "--profile-dir", profile, f"--username={name}",
                         "--password-file", file)
        assert done.returncode == 0, done.stderr
        whoami = bench.cli("whoami", "--profile-dir", profile, "--json")
        assert json.loads(whoami.stdout)["username"] == name
        user = sdk(bench, "POST", "login", username=name, password=file.read_text())[1]
        evidence.add_secret("a session token", user["sessionToken"])
        request = urllib.request.Request(
            f"http://127.0.0.1:{bench.http_port}/postern/v1/broker", b"{}",
            {"X-Parse-Application-Id": "postern", "X-Parse-Session-Token": user["sessionToken"]})
        with urllib.request.urlopen(request, timeout=60) as answer:
            access = json.load(answer)
        evidence.add_secret("a broker password", access["password"])
        assert name not in json.dumps([access["username"], access["clientId"]])
        shown = bench.cli("users", "deny", "--json", "--", name, "claim")
        assert shown.returncode == 0, shown.stderr
        assert json.loads(shown.stdout)["username"] == name
    listed = run(bench._authority("user", "list", "--json"), timeout=60)
    assert "+/#" in [user["username"] for user in json.loads(listed.stdout)]
    clients = (bench.folder / "state").rglob("dynamic-security.json")
    assert all("ana+lamp" not in file.read_text() for file in clients)


def bare(bench, method: str, path: str, headers: dict):
    request = urllib.request.Request(
        f"http://127.0.0.1:{bench.http_port}{path}", headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.headers


def test_a_client_names_its_key_by_http_basic(bench):
    for password, status in ((f"javascript-key={KEY}", 200), ("javascript-key=wrong", 403)):
        basic = base64.b64encode(f"postern:{password}".encode()).decode()
        assert bare(bench, "GET", "/1/roles", {"Authorization": f"Basic {basic}"})[0] == status


def test_a_page_of_another_origin_is_let_in_by_name(bench):
    asks = {"Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-parse-request-id"}
    status, granted = bare(bench, "OPTIONS", "/1/users", {"Origin": PAGE, **asks})
    assert status == 204 and "X-Parse-Request-Id" in granted["Access-Control-Allow-Headers"]
    for path, origin, allowed in (
            ("/1/users", PAGE, PAGE), ("/1/users", "https://evil.example", None),
            ("/postern/v1/boards", PAGE, None)):
        for method in ("GET", "OPTIONS"):
            answer = bare(bench, method, path, {"Origin": origin, **asks})[1]
            assert answer["Access-Control-Allow-Origin"] == allowed, (method, path, origin)
            assert answer["Access-Control-Allow-Credentials"] is None


def test_another_applications_key_is_no_key(bench):
    for members in ({"_ApplicationId": "another"}, {"_JavaScriptKey": "wrong"}):
        status, refused = sdk(bench, "POST", "login", username=ADMIN, password="x" * 9, **members)
        assert (status, refused) == (403, {"error": "unauthorized"})


def test_nothing_leaked(bench, evidence):
    assert evidence.secrets
    bench.close()
    assert evidence.search() == []
