"""Parse clients read what boards wrote: ParsePy, and what the JavaScript and Swift SDKs send."""

import datetime
import json
import urllib.parse

import pytest

from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import Measure, house, house_settings, measure  # noqa: F401, fixtures
from parse_fixtures import javascript, parsepy, swift


@pytest.fixture(scope="module")
def owner(house):  # noqa: F811
    return house.user("paula", "--claim")


@pytest.fixture(scope="module")
def user_id(owner):
    return owner.http("GET", "/parse/users/me")[1]["objectId"]


@pytest.fixture(scope="module")
def board(house, owner, user_id):  # noqa: F811
    """Six readings with pointers to two sheds, and to their owner."""
    board = house.live("in the garden", owner=owner)
    for n, name in enumerate(("north", "south")):
        other = pointer("Shed", f"s{1 - n}")
        assert "seq" in board.thermo.write(
            "Shed", json.dumps({"name": name, "other": other}).encode(), op="update",
            object_id=f"s{n}")
    for n in range(6):
        body = {"n": n, "shed": pointer("Shed", f"s{n % 2}"), "by": pointer("_User", user_id),
                "gone": pointer("Shed", "none")}
        assert "seq" in board.write(json.dumps(body).encode())
    until(lambda: owner.http("GET", "/parse/classes/Reading?count=1&limit=0")[1].get("count") == 6,
          "the records to be kept", 60)
    return board


@pytest.fixture(scope="module")
def root(house):  # noqa: F811
    return f"http://127.0.0.1:{house.http_port}/parse"


@pytest.fixture(scope="module")
def parse(root, owner):
    """ParsePy, logged in as the owner; the authority asks for no key of clients."""
    with parsepy(root, "any") as modules:
        modules.connection.ACCESS_KEYS["session_token"] = owner.token
        yield modules


@pytest.fixture(scope="module")
def reading(parse):
    return parse.datatypes.Object.factory("Reading")


def pointer(class_name: str, object_id: str) -> dict:
    return {"__type": "Pointer", "className": class_name, "objectId": object_id}


def numbers(objects) -> list[int]:
    return [o["n"] if isinstance(o, dict) else o.n for o in objects]


# ParsePy.


def test_parsepy_queries_readings(board, reading):
    assert numbers(reading.Query.all()) == [0, 1, 2, 3, 4, 5]
    assert numbers(reading.Query.filter(n__gte=2, n__lt=4)) == [2, 3]
    assert numbers(reading.Query.all().order_by("n", descending=True).limit(2)) == [5, 4]
    assert numbers(reading.Query.all().skip(4)) == [4, 5]
    assert reading.Query.filter(n__in=[1, 3, 9]).count() == 2
    first, second = list(reading.Query.all())[:2]
    assert first.objectId == f"{board.iid}-3" and first.installationId == board.iid
    assert isinstance(first.createdAt, datetime.datetime)
    assert reading.Query.get(objectId=first.objectId).n == 0
    assert numbers(reading.Query.filter(objectId__in=[second.objectId, first.objectId])) == [0, 1]
    later = reading.Query.filter(createdAt__gte=second.createdAt)
    assert 1 in numbers(later) and second.objectId in [o.objectId for o in later]


def test_parsepy_follows_pointers(board, parse, reading, user_id):
    shed = parse.datatypes.Object.factory("Shed")
    south = shed.Query.get(name="south")
    assert numbers(reading.Query.filter(shed=south)) == [1, 3, 5]
    lazy = reading.Query.get(n=3)
    assert "name" not in lazy.shed.__dict__ and lazy.shed.name == "south"
    [eager] = reading.Query.filter(n=3).select_related("shed", "by", "gone")
    assert eager.shed.__dict__["name"] == "south"
    assert eager.by.__dict__["username"] == "paula" and eager.by.objectId == user_id
    assert "_is_loaded" in eager.gone.__dict__


def test_parsepy_cannot_write(board, parse, reading):
    shed = parse.datatypes.Object.factory("Shed")
    found = shed.Query.get(name="south")
    found.name = "west"
    for change in (found.save, found.delete, lambda: found.increment("n"), reading(n=7).save):
        with pytest.raises(parse.core.ResourceRequestBadRequest) as refused:
            change()
        assert json.loads(refused.value.args[0])["code"] == 119
    assert reading.Query.filter(n=7).count() == 0
    assert sorted(o.name for o in shed.Query.all()) == ["north", "south"]


# The SDKs.


def test_the_javascript_sdk_finds_counts_and_includes(board, root, owner):
    def find(path="classes/Reading", **options):
        status, body = javascript(root, "any", "GET", path, owner.token, **options)
        assert status == 200, body
        return body

    found = find(where={"n": {"$gt": 2}}, include="shed.other,by", order="-n", limit=2)["results"]
    assert numbers(found) == [5, 4]
    assert found[0]["shed"]["__type"] == "Object" and found[0]["shed"]["name"] == "south"
    assert found[0]["shed"]["other"]["name"] == "north"
    assert found[0]["shed"]["other"]["other"] == pointer("Shed", "s1")
    assert found[0]["by"]["username"] == "paula" and found[0]["gone"] == pointer("Shed", "none")
    assert find(where={}, count=1, limit=0) == {"results": [], "count": 6}
    # Query.get, and fetchWithInclude.
    by_id = find(where={"objectId": f"{board.iid}-4"}, limit=1)["results"]
    assert numbers(by_id) == [1]
    fetched = find(f"classes/Reading/{board.iid}-4", include="shed", keys="shed.name")
    assert set(fetched) == {"objectId", "createdAt", "updatedAt", "ACL", "shed"}
    assert set(fetched["shed"]) == {"__type", "className", "objectId", "createdAt", "updatedAt",
                                    "ACL", "name"}
    # fetchAll asks for many ids.
    ids = [f"{board.iid}-{n}" for n in (8, 3, 99)]
    assert numbers(find(where={"objectId": {"$in": ids}})["results"]) == [0, 5]
    session = find("sessions/me", include="user")
    assert session["user"]["username"] == "paula" and session["user"]["__type"] == "Object"


def test_the_swift_sdk_finds_counts_and_includes(board, root, owner):
    status, body = swift(root, owner.token, "classes/Reading", where={"n": {"$lte": 4}},
                         order=["-n"], limit=2, skip=1, include=["shed"], keys=["n", "shed"])
    assert status == 200 and numbers(body["results"]) == [3, 2], body
    assert [o["shed"]["name"] for o in body["results"]] == ["south", "north"]
    assert "by" not in body["results"][0]
    status, body = swift(root, owner.token, "classes/Reading", where={}, count=True, limit=1)
    assert (status, body["count"], len(body["results"])) == (200, 6, 1)
    status, body = swift(root, owner.token, f"classes/Reading/{board.iid}-3", include=["*"])
    assert status == 200 and body["shed"]["name"] == "north"
    assert body["by"]["username"] == "paula"


@pytest.mark.parametrize("condition", [
    {"shed": {"$inQuery": {"className": "Shed", "where": {"name": "south"}}}},
    {"shed": {"$notInQuery": {"className": "Shed", "where": {}}}},
    {"n": {"$select": {"query": {"className": "Reading", "where": {}}, "key": "n"}}},
    {"n": {"$dontSelect": {"query": {"className": "Reading", "where": {}}, "key": "n"}}},
    {"at": {"$nearSphere": {"__type": "GeoPoint", "latitude": 1, "longitude": 1}}},
])
def test_a_condition_that_is_not_here_is_named(board, root, owner, condition):
    (operator,) = next(iter(condition.values()))
    for status, body in (
            javascript(root, "any", "GET", "classes/Reading", owner.token, where=condition),
            swift(root, owner.token, "classes/Reading", where=condition)):
        assert (status, body["code"]) == (400, 102) and operator in body["error"], body


def test_a_stranger_and_a_restricted_session(house, board, root, owner):  # noqa: F811
    other = house.user("peter", "--claim")
    ids = {"objectId": {"$in": [f"{board.iid}-3", "s0", "s1"]}}
    for person in (other, house.admin):
        for name in ("Reading", "Shed"):
            status, body = javascript(root, "any", "GET", f"classes/{name}", person.token,
                                      where=ids, include="shed,by,other", count=1)
            assert (status, body) == (200, {"results": [], "count": 0})
    status, made = javascript(root, "any", "POST", "sessions", owner.token)
    assert status == 201
    house.evidence.add_secret("a restricted session's token", made["sessionToken"])
    status, body = swift(root, made["sessionToken"], "classes/Reading", where={},
                         include=["shed", "by"])
    assert numbers(body["results"]) == [0, 1, 2, 3, 4, 5]
    assert body["results"][0]["by"]["username"] == "paula"
    assert body["results"][0]["shed"]["name"] == "north"


def test_a_batch_reads_classes(board, root, owner):
    where = urllib.parse.quote(json.dumps({"n": 2}))
    requests = [{"method": "GET", "path": f"/parse/classes/Reading?where={where}&include=shed"},
                {"method": "POST", "path": "/parse/classes/Reading", "body": {"n": 1}}]
    status, answers = javascript(root, "any", "POST", "batch", owner.token, requests=requests)
    assert status == 200
    [found] = answers[0]["success"]["results"]
    assert (found["n"], found["shed"]["name"]) == (2, "north")
    assert answers[1]["error"]["code"] == 119


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
