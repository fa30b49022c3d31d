"""What boards wrote, as Parse's clients query it and as `postern export` prints it."""

import csv
import http.server
import io
import json
import socket
import threading
import urllib.parse

import pytest

from bench.forwarding import forwarded
from bench.house import Person
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import Measure, house, house_settings, measure  # noqa: F401, fixtures


@pytest.fixture(scope="module")
def owner(house):  # noqa: F811
    return house.user("olga", "--claim")


@pytest.fixture(scope="module")
def board(house, owner):  # noqa: F811
    """A board of olga's with ten readings, an object of its own, and one that was deleted."""
    board = house.live("in the barn", owner=owner)
    # No earlier reply is on its way any more that could set the board's clock back.
    until(lambda: json.loads(board.command(
        "session", "refresh", "--json", ok=(0, 1, 3, 5)))["result"] == "done", "a refresh")
    for n in range(10):
        body = {"n": n, "celsius": -n / 2, "state": "odd" if n % 2 else "even",
                "at": {"__type": "Date", "iso": f"2026-11-{n + 10}T00:00:00.000Z"},
                "shed": {"__type": "Pointer", "className": "Shed", "objectId": f"s{n % 3}"},
                "_hidden": 1, "objectId": "chosen"}
        assert board.write(json.dumps(body).encode())["seq"] == n + 1
    assert "seq" in board.thermo.write(
        "Config", b'{"mode":"eco","level":1}', op="update", object_id="main")
    assert "seq" in board.thermo.write("Config", b'{"level":2}', op="update", object_id="main")
    gone = f"{board.iid}-10"
    assert "seq" in board.thermo.write("Reading", b"{}", op="delete", object_id=gone)
    until(lambda: found(owner, "Config/main").get("level") == 2
          and len(query(owner, "Reading")) == 9, "the records to be kept", 60)
    return board


def found(person, path: str) -> dict:
    status, body = person.http("GET", f"/parse/classes/{path}")
    return body if status == 200 else {}


def query(person, class_name: str, **options) -> list[dict]:
    return answer(person, class_name, **options)["results"]


def answer(person, class_name: str, **options) -> dict:
    text = urllib.parse.urlencode(
        {k: v if isinstance(v, str) else json.dumps(v) for k, v in options.items()})
    status, body = person.http("GET", f"/parse/classes/{class_name}?{text}")
    assert status == 200, body
    return body


def numbers(person, **options) -> list[int]:
    return [o["n"] for o in query(person, "Reading", **options)]


def date(iso: str) -> dict:
    return {"__type": "Date", "iso": iso}


def test_an_object_has_what_parse_clients_expect(house, owner, board):  # noqa: F811
    first = found(owner, f"Reading/{board.iid}-1")
    assert first["objectId"] == f"{board.iid}-1"
    assert first["installationId"] == board.iid and first["app"] == "thermo"
    assert first["createdAt"] == first["updatedAt"] and first["createdAt"].endswith("Z")
    (user, rights), = first["ACL"].items()
    assert rights == {"read": True} and user == owner.http("GET", "/parse/users/me")[1]["objectId"]
    assert first["celsius"] == 0 and "_hidden" not in first
    changed = found(owner, "Config/main")
    assert (changed["mode"], changed["level"]) == ("eco", 2)
    assert changed["createdAt"] <= changed["updatedAt"]


def test_queries_filter_sort_page_and_count(owner, board):
    assert numbers(owner) == list(range(9))
    assert numbers(owner, order="-createdAt", limit=3) == [8, 7, 6]
    assert numbers(owner, order="-n", limit=2, skip=1) == [7, 6]
    assert numbers(owner, where={"n": {"$gte": 3, "$lt": 5}}) == [3, 4]
    assert numbers(owner, where={"state": "odd"}) == [1, 3, 5, 7]
    assert numbers(owner, where={"$or": [{"n": 1}, {"n": 8}]}) == [1, 8]
    assert numbers(owner, where={"at": {"$gt": date("2026-11-16T12:00:00.000Z")}}) == [7, 8]
    shed = {"__type": "Pointer", "className": "Shed", "objectId": "s1"}
    assert numbers(owner, where={"shed": shed}) == [1, 4, 7]
    assert numbers(owner, where={"state": {"$regex": "^\\Qod\\E"}}, limit=1) == [1]
    counted = answer(owner, "Reading", where={"state": "even"}, count=1, limit=0)
    assert counted == {"results": [], "count": 5}
    assert set(query(owner, "Reading", keys="celsius", limit=1)[0]) == {
        "objectId", "createdAt", "updatedAt", "ACL", "celsius"}


def test_times_and_ids_are_cut_in_the_store(owner, board):
    times = [o["createdAt"] for o in query(owner, "Reading")]
    later = {"createdAt": {"$gt": date(times[3])}}
    assert numbers(owner, where=later) == [n for n in range(9) if times[n] > times[3]]
    assert numbers(owner, where={"createdAt": {"$lte": date(times[0])}})[0] == 0
    assert numbers(owner, where={"createdAt": {"$lt": date(times[0])}}) == []
    assert numbers(owner, where={"objectId": f"{board.iid}-5"}) == [4]
    assert numbers(owner, where={"objectId": f"{board.iid}-5", "n": 3}) == []
    assert numbers(owner, where={"objectId": "x"}) == []
    assert numbers(owner, where={"installationId": board.iid, "n": 2}) == [2]
    assert numbers(owner, where={"installationId": "3f1f7c0e-2b7a-4d4e-9c55-0123456789ab"}) == []


def test_a_malformed_date_is_refused(owner, board):
    for condition in ({"createdAt": {"$gt": date("yesterday")}}, {"at": date("2026-13-01")},
                      {"$or": [{"at": {"$in": [{"__type": "Date"}]}}]}):
        text = urllib.parse.urlencode({"where": json.dumps(condition)})
        status, body = owner.http("GET", f"/parse/classes/Reading?{text}")
        assert (status, body["code"]) == (400, 102), body


def test_a_post_may_carry_the_query(house, owner, board):  # noqa: F811
    status, body = owner.http("POST", "/parse/classes/Reading", {
        "_method": "GET", "where": {"n": 4}, "limit": 1})
    assert status == 200 and [o["n"] for o in body["results"]] == [4]


def test_nobody_else_finds_them(house, board):  # noqa: F811
    other = house.user("otto", "--claim")
    for person in (other, house.admin):
        assert query(person, "Reading") == []
        for path in (f"Reading/{board.iid}-1", "Config/main"):
            status, body = person.http("GET", f"/parse/classes/{path}")
            assert (status, body["code"]) == (404, 101)
        assert query(person, "Reading", where={"objectId": f"{board.iid}-1"}) == []
        done = person.cli("export", "--board", board.iid, "--format", "jsonl")
        assert person is house.admin or done.returncode != 0
        assert done.stdout == ""


def test_boards_alone_write(owner, board):
    for method, path in (("POST", "Reading"), ("PUT", "Config/main"), ("DELETE", "Config/main")):
        status, body = owner.http(method, f"/parse/classes/{path}", {"n": 1})
        assert body["code"] == 119 and "only boards write" in body["error"], body
    for name in ("_Secret", "_User2"):
        assert owner.http("GET", f"/parse/classes/{name}")[1]["code"] == 119
    assert found(owner, "Config/main")["level"] == 2


def test_an_export_has_every_record(house, owner, board):  # noqa: F811
    lines = [json.loads(line) for line in owner.must(
        "export", "--board", "in the barn", "--format", "jsonl").splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, 14))
    assert {line["iid"] for line in lines} == {board.iid}
    assert [line["op"] for line in lines[9:]] == ["create", "update", "update", "delete"]
    assert lines[3]["data"]["n"] == 3 and lines[3]["late"] is False
    table = owner.must("export", "--board", board.iid[:8], "--class", "Reading", "--since", "7d",
                       "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["seq"] for row in rows] == [str(n) for n in [*range(1, 11), 13]]
    assert float(rows[3]["celsius"]) == -1.5 and rows[3]["state"] == "odd"
    assert owner.must("export", "--board", board.iid, "--until", "1d", "--format", "jsonl") == ""
    assert owner.cli("export", "--board", board.iid, "--class", "a/b").returncode == 2


def test_an_export_of_many_records_comes_in_pages(house, owner):  # noqa: F811
    board = house.live("busy", owner=owner)
    payload = b'{"text":"%s"}' % (b"x" * 40_000)
    for _ in range(60):
        assert "seq" in board.write(payload)
    until(lambda: answer(owner, "Reading", where={"installationId": board.iid}, count=1,
                         limit=0)["count"] == 60, "the records to be kept", 60)
    lines = owner.must("export", "--board", board.iid, "--format", "jsonl").splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, 61))


class FaultyProxy(http.server.ThreadingHTTPServer):
    """Passes requests on. Each request for records meets the next of its faults, if one is left."""

    daemon_threads = True

    def __init__(self, target: int, faults: list[str]):
        super().__init__(("127.0.0.1", 0), FaultyHandler)
        self.target, self.faults, self.met = target, list(faults), []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class FaultyHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        fault = ""
        if "/records" in self.path and self.server.faults:
            fault = self.server.faults.pop(0)
            self.server.met.append(fault)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if fault == "busy":
            return self.answer(503, b"busy", {"Retry-After": "1"})
        if fault == "gone":
            return self.cut()
        status, text = forwarded(self, self.server.target, body)
        self.answer(status, text, {}, len(text) // 2 if fault == "cut" else None)

    do_POST = do_GET

    def answer(self, status: int, body: bytes, headers: dict, only: int | None = None) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:only])
        if only is not None:
            self.cut()

    def cut(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_) -> None:
        pass


def test_an_export_goes_on_where_its_connection_was_cut(house, owner, tmp_path):  # noqa: F811
    board = house.live("far away", owner=owner)
    payload = b'{"text":"%s"}' % (b"x" * 40_000)
    for _ in range(60):
        assert "seq" in board.write(payload)
    until(lambda: answer(owner, "Reading", where={"installationId": board.iid}, count=1,
                         limit=0)["count"] == 60, "the records to be kept", 60)
    with FaultyProxy(house.http_port, ["busy", "", "cut", "gone", "", "busy"]) as proxy:
        far = Person(house, owner.name, owner.password_file, tmp_path / "profile")
        place = ("--authority", f"http://127.0.0.1:{proxy.server_port}")
        far.must(*place, "login", "--username", far.name, "--password-file", far.password_file)
        house.evidence.add_secret("the session token of the far login", far.token)
        house.evidence.ours.add(far.profile / "profile.json")
        path = tmp_path / "far.jsonl"
        done = far.cli(*place, "export", "--board", board.iid, "--format", "jsonl",
                       "--out", path, timeout=120)
        proxy.shutdown()
    assert done.returncode == 0, done.stderr
    assert proxy.met == ["busy", "", "cut", "gone", "", "busy"]
    assert done.stderr.count("then reading on") == 4 and "\r" not in done.stderr
    lines = path.read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, 61))
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir() if "far" in entry.name] == ["far.jsonl"]
    again = owner.cli("export", "--board", board.iid, "--out", path)
    assert again.returncode == 2 and "--force" in again.stderr
    assert path.read_text().splitlines() == lines
    owner.must("export", "--board", board.iid, "--format", "csv", "--out", path, "--force")
    assert path.read_text().startswith("time,")


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
