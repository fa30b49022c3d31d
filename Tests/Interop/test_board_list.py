"""Lists of boards in pages: while boards come and go, by search and label, each person's own."""

import json
import urllib.parse

import pytest

from bench.house import Person
from bench.listed_boards import ListedBoard, add_boards
from house_fixtures import house, house_settings  # noqa: F401, fixtures

BOARDS = "/postern/v1/boards"
ODD = ["100% wet", "under_score", "back\\slash", "it's", "Küche", "a; DROP TABLE boards"]


@pytest.fixture(scope="module")
def owner(house) -> Person:  # noqa: F811
    return house.user("olga", "--claim")


@pytest.fixture(scope="module")
def boards(house, owner) -> dict[str, ListedBoard]:  # noqa: F811
    """Olga's by their names: thirty fields, and some with odd names. Others belong to ada."""
    own = [ListedBoard(f"field {n:02}", owner.name, n % 3 > 0, ("north",) if n % 2 else ())
           for n in range(30)]
    own += [ListedBoard(name, owner.name, True, ("odd", "north")) for name in ODD]
    others = [ListedBoard(f"{name} of ada", labels=("ada-only", "north")) for name in ODD]
    add_boards(house, own + others)
    return {board.name: board for board in own}


def page(person: Person, **query) -> dict:
    status, body = person.http("GET", f"{BOARDS}?{urllib.parse.urlencode(query)}")
    assert status == 200, body
    return body


def names(answer: dict) -> list[str]:
    return [board["name"] for board in answer["results"]]


@pytest.mark.parametrize("text, found", [
    ("%", ["100% wet"]), ("_", ["under_score"]), ("\\", ["back\\slash"]), ("'", ["it's"]),
    ("KÜCHE", ["Küche"]), ("DROP TABLE", ["a; DROP TABLE boards"]), ("%%", []), ("field 0_", []),
    ("ada", []),
])
def test_search_is_taken_as_it_is_written(owner, boards, text, found):
    answer = page(owner, search=text)
    assert names(answer) == found and answer["counts"]["all"] == len(found)


def test_pages_have_each_board_once_while_some_are_released_and_renamed(owner, boards):
    for sort in ("name", "attention"):
        first = page(owner, search="field", sort=sort, limit=7)
        gone, moved = first["results"][2], first["results"][4]
        seen = names(first)
        # One that was shown is released, and one that was shown goes behind all others.
        if sort == "name":
            assert owner.http("DELETE", f"{BOARDS}/{gone['installationId']}")[0] == 200
        path = f"{BOARDS}/{moved['installationId']}"
        assert owner.http("PUT", path, {"name": "field zz"})[0] == 200
        cursor = first["next"]
        while cursor:
            answer = page(owner, search="field", sort=sort, limit=7, cursor=cursor)
            assert "counts" not in answer and len(answer["results"]) <= 7
            seen += names(answer)
            cursor = answer["next"]
        assert owner.http("PUT", path, {"name": moved["name"]})[0] == 200
        seen.remove("field zz")
        stable = [name for name in seen if name.startswith("field ")]
        assert sorted(stable) == sorted(set(stable)) and len(stable) >= 29


def test_labels_group_and_are_set_by_the_owner(house, owner, boards):  # noqa: F811
    answer = page(owner, label="odd", limit=200)
    assert sorted(names(answer)) == sorted(ODD)
    assert {entry["label"] for entry in answer["labels"]} == {"north", "odd"}
    path = f"{BOARDS}/{boards['Küche'].iid}"
    status, board = owner.http("PUT", path, {"labels": ["kitchen", "a.b_c-1", "kitchen"]})
    assert (status, board["labels"]) == (200, ["a.b_c-1", "kitchen"])
    change = {"addLabels": ["b", "kitchen"], "removeLabels": ["a.b_c-1", "b2"]}
    status, board = owner.http("PUT", path, change)
    assert (status, board["labels"]) == (200, ["b", "kitchen"])
    for body in (change | {"labels": []}, {"addLabels": ["B"]}, {}, {"labels": None},
                 {"name": "no", "addLabels": [f"l{n}" for n in range(7)]}):
        assert owner.http("PUT", path, body)[0] == 400, body
    for labels in (["Kitchen"], ["a b"], ["ü"], [""], ["-a"], ["a" * 33], "kitchen", [None],
                   [f"l{n}" for n in range(9)]):
        status, body = owner.http("PUT", path, {"labels": labels})
        assert status == 400, (labels, body)
    listed = owner.must("boards", "list", "--label", "Kitchen", "--json")
    assert json.loads(listed)[0]["name"] == "Küche"
    for line in (("label", path, "Bärn"), ("list", "--label", "a b"), ("list", "--search", "")):
        done = owner.cli("boards", *line)
        assert done.returncode == 2, (line, done.stderr)
    assert boards["Küche"].iid in listed and listed.count("installationId") == 1
    owner.must("boards", "label", boards["Küche"].iid, "odd", "north")
    assert len(names(page(owner, label="odd"))) == len(ODD)


def test_nobody_sees_or_labels_the_boards_of_others(house, owner, boards):  # noqa: F811
    eve = house.user("eve", "--claim")
    for query in ({}, {"search": "field"}, {"label": "north"}, {"sort": "name"}):
        answer = page(eve, limit=10, **query)
        assert (answer["results"], answer["next"], answer["labels"]) == ([], None, [])
        assert answer["counts"]["all"] == answer["counts"]["online"] == 0
    cursor = page(owner, limit=3)["next"]
    assert page(eve, limit=10, cursor=cursor)["results"] == []
    assert eve.http("GET", f"{BOARDS}?limit=10&everyone=true")[1]["code"] == 119
    path = f"{BOARDS}/{boards['it' + chr(39) + 's'].iid}"
    assert eve.http("PUT", path, {"labels": ["mine"]})[0] == 404
    everyone = page(house.admin, everyone="true", search="of ada", limit=200)
    assert len(names(everyone)) == len(ODD)
    owners = {board["owner"] for board in page(
        house.admin, everyone="true", limit=200)["results"]}
    assert owners == {"ada", "olga"}
    assert {board["owner"] for board in page(house.admin, limit=200)["results"]} == {"ada"}


def test_what_is_malformed_is_refused(owner, boards):
    for query in ("limit=0", "limit=1000", "sort=x", "cursor=x", "cursor=0.x.YQ", "label=A",
                  "search=", "search=%00", f"search={'a' * 65}", "live=1"):
        status, body = owner.http("GET", f"{BOARDS}?{query}")
        assert (status, body["code"]) == (400, 142), query
