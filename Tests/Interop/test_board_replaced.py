"""A dead board's place goes to another one: name, labels, scope, plot and consumers; nothing of the
old one comes back."""

import json
import time

import pytest

from bench.house import HouseBoard
from bench.waiting import until
from house_fixtures import house, house_settings  # noqa: F401, fixtures

BOARDS = "/postern/v1/boards"
SCOPE = {"default": "deny", "rules": [{"class": "Reading", "allow": ["create"]}]}


@pytest.fixture(scope="module")
def boards(house, tmp_path_factory) -> dict[str, HouseBoard]:  # noqa: F811
    """`old` has died with three messages on its disk; `new` was paired in its place."""
    old, new, other = house.live_all({"barn": house.admin, "fresh": house.admin,
                                      "other": house.admin}).values()
    scope = tmp_path_factory.mktemp("scope") / "scope.json"
    scope.write_text(json.dumps(SCOPE))
    house.admin.must("sessions", "scope", old.session_id, scope, "--wait", "60s")
    house.admin.must("boards", "label", old.iid, "north", "dry")
    house.admin.must("consumers", "add", "grafana", "--boards", f"{old.iid},{other.iid}")
    for celsius in range(5):
        assert "seq" in old.write(b'{"celsius":%d}' % celsius)
    wait_newest(house, old, 4)
    before = detail(house, old)
    old.cable.pull()
    for celsius in (90, 91, 92):
        assert "seq" in old.write(b'{"celsius":%d}' % celsius)
    old.agent.stop()
    assert before["status"] == "up"
    until(lambda: detail(house, old)["status"] == "down", "the board to be offline", 60)
    return {"old": old, "new": new, "other": other}


def detail(house, board) -> dict:  # noqa: F811
    status, body = house.admin.http("GET", f"{BOARDS}/{board.iid}")
    assert status == 200, body
    return body


def newest(house, board) -> float | None:  # noqa: F811
    body = house.admin.http("GET", f"{BOARDS}/{board.iid}/newest")[1]
    return next((v["number"] for v in body["results"] if v["field"] == "celsius"), None)


def wait_newest(house, board, celsius: float) -> None:  # noqa: F811
    until(lambda: newest(house, board) == celsius, f"{celsius} to be kept", 60)


def counted(house, board) -> int:  # noqa: F811
    """How many numbers the plot of the last hour has."""
    now = int(time.time() * 1000)
    query = f"class=Reading&field=celsius&since={now - 3600_000}&until={now + 60_000}&points=60"
    status, body = house.admin.http("GET", f"{BOARDS}/{board.iid}/series?{query}")
    assert status == 200, body
    return sum(body["count"])


def test_replacing_needs_two_boards_of_one_owner_and_a_session(house, boards):  # noqa: F811
    old, new = boards["old"], boards["new"]
    path = f"{BOARDS}/{old.iid}/replace"
    for body, status in (({"by": old.iid}, 400), ({"by": "x"}, 400), ({}, 400),
                         ({"by": "3f1f7c0e-2b7a-4d4e-9c55-0123456789ab"}, 404)):
        assert house.admin.http("POST", path, body)[0] == status, body
    eve = house.user("eve", "--claim")
    assert eve.http("POST", path, {"by": new.iid})[0] == 404
    assert eve.cli("boards", "replace", old.iid, new.iid).returncode == 1
    assert detail(house, old)["name"] == "barn"


def test_the_new_board_takes_the_place(house, boards):  # noqa: F811
    old, new = boards["old"], boards["new"]
    assert "seq" in new.write(b'{"celsius":50}')
    wait_newest(house, new, 50)
    done = house.admin.cli("boards", "replace", "barn", new.iid, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["installationId"] == old.iid and answer["by"] == new.iid
    assert answer["lost"]["after"] == 5 and "after number 5" in done.stderr
    shown = detail(house, new)
    assert (shown["name"], shown["labels"]) == ("barn", ["dry", "north"])
    assert [one["installationId"] for one in shown["replaces"]] == [old.iid]
    assert f"{old.iid}, lost after number 5" in house.admin.must("boards", "show", "barn")
    assert house.show(new.session_id)["scope"] == SCOPE
    until(lambda: new.app("x").write("Other", b"{}").get("code") == 119, "the scope", 60)
    assert house.admin.http("GET", f"{BOARDS}/{old.iid}")[0] == 404
    consumer, = house.cli_json("consumers", "list")
    assert set(consumer["boards"]) == {boards["other"].iid, new.iid}
    events = house.admin.http("GET", f"{BOARDS}/{new.iid}/timeline")[1]["results"]
    took, = [event for event in events if event["event"] == "took-place"]
    assert old.iid in took["detail"]
    assert old.session_id in {event["sessionId"] for event in events}


def test_the_plot_runs_on(house, boards):  # noqa: F811
    new = boards["new"]
    assert counted(house, new) == 6
    assert "seq" in new.write(b'{"celsius":51}')
    wait_newest(house, new, 51)
    assert counted(house, new) == 7


def test_an_export_has_what_the_old_board_sent(house, boards):  # noqa: F811
    lines = house.admin.must("export", "--board", "barn", "--format", "jsonl").splitlines()
    sent = [(line["iid"], line["data"]["celsius"]) for line in map(json.loads, lines)]
    old, new = boards["old"].iid, boards["new"].iid
    assert sent == [(old, n) for n in range(5)] + [(new, 50), (new, 51)]
    rows = house.admin.must("export", "--board", "barn").splitlines()
    assert rows[0].endswith("celsius,payload") and len(rows) == 8


def test_an_export_says_to_others_what_it_leaves_out(house, boards, tmp_path):  # noqa: F811
    new, greta = boards["new"].iid, house.user("greta")
    link = house.admin.must("boards", "share", new, "see").strip()
    house.evidence.add_secret("the secret of an invitation", link.rpartition("/")[2])
    file = tmp_path / "link"
    file.write_text(link + "\n")
    file.chmod(0o600)
    house.evidence.ours.add(file)
    greta.must("boards", "accept", "--link-file", file)
    done = greta.cli("export", "--board", new, "--format", "jsonl")
    assert {json.loads(line)["iid"] for line in done.stdout.splitlines()} == {new}
    assert done.returncode == 0 and "what this board sent itself" in done.stderr
    own = house.admin.cli("export", "--board", new, "--format", "jsonl")
    assert own.returncode == 0 and "itself" not in own.stderr
    greta.must("boards", "unshare", new)


def test_the_old_key_never_comes_back(house, boards):  # noqa: F811
    old = boards["old"]
    ended = house.wait_event("session.ended", old.session_id)
    assert ended["actor"] == house.admin.name
    old.cable.plug()
    old.start()
    until(lambda: "Not authorized" in old.agent.log, "the refusal", 60)
    claim = house.admin.cli("claim", old.pair("--new"))
    assert claim.returncode == 77 and "took the place" in claim.stderr


def test_a_chain_of_replacements_is_one_plot(house, boards):  # noqa: F811
    third, new = house.live("third"), boards["new"]
    online = house.admin.cli("boards", "replace", new.iid, third.iid)
    assert online.returncode == 77 and "online" in online.stderr
    new.agent.stop()
    until(lambda: detail(house, new)["status"] == "down", "the board to be offline", 60)
    house.admin.must("boards", "replace", new.iid, third.iid)
    shown = detail(house, third)
    assert [one["installationId"] for one in shown["replaces"]] == [
        boards["old"].iid, boards["new"].iid]
    assert counted(house, third) == 7
    house.admin.must("boards", "release", third.iid)
    kept = house.cli_json("boards", "former")
    assert not {boards["old"].iid, boards["new"].iid} & {b["installationId"] for b in kept}
