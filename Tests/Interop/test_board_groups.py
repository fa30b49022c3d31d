"""The acts of the command line on all boards of a label: each result by its board."""

import http.server
import json
import signal
import threading

import pytest

from bench.forwarding import forwarded
from bench.house import Person
from bench.listed_boards import ListedBoard, add_boards
from bench.program import Program
from bench.waiting import until
from house_fixtures import house, house_settings  # noqa: F401, fixtures

SCOPE = '{"default":"deny","rules":[{"class":"Reading","allow":["create"]}]}'


@pytest.fixture(scope="module")
def owner(house) -> Person:  # noqa: F811
    return house.user("olga", "--claim")


@pytest.fixture(scope="module")
def boards(house, owner) -> dict:  # noqa: F811
    """Two boards with a session and one without, all of the group `barn`."""
    live = house.live_all({"east": owner, "west": owner})
    bare = ListedBoard("away", owner.name, labels=("barn",))
    add_boards(house, [bare])
    for board in live.values():
        owner.must("boards", "label", board.iid, "barn")
        board.wait_session("available")
    return {**live, "away": bare}


def act(person: Person, *words: str, status: int = 0) -> dict[str, dict]:
    """What the command says of each board, by its name."""
    done = person.cli(*words, "--json")
    assert done.returncode == status, done.stderr
    outcomes = json.loads(done.stdout)
    shown = [line for line in done.stderr.splitlines() if line[:1] in "✓✗"]
    assert [line[0] == "✓" for line in shown[:len(outcomes)]] == [o["done"] for o in outcomes]
    return {outcome["name"]: outcome for outcome in outcomes}


def test_labels_are_added_and_removed_for_a_group(owner, boards):
    act(owner, "boards", "label", "--label", "Barn", "--add", "north", "--add", "dry")
    changed = act(owner, "boards", "label", "--label", "north", "--remove", "dry")
    assert {name: o["result"]["labels"] for name, o in changed.items()} == {
        name: ["barn", "north"] for name in boards}


def test_one_board_without_a_session_does_not_stop_the_others(owner, boards, tmp_path):
    ended = act(owner, "sessions", "extend", "--label", "barn", "20d", "--shorten",
                status=3)
    assert [name for name, o in ended.items() if not o["done"]] == ["away"]
    assert "no active session" in ended["away"]["error"]
    assert ended["east"]["result"]["expiresAt"] == pytest.approx(
        ended["west"]["result"]["expiresAt"], abs=60)
    scope = tmp_path / "scope.json"
    scope.write_text(SCOPE)
    act(owner, "sessions", "scope", "--label", "barn", str(scope), status=3)
    for name in ("east", "west"):
        until(lambda name=name: "seq" in boards[name].write(b'{"celsius":1}'), "a write to pass")
        until(lambda name=name: boards[name].app("thermo").write("Other", b"{}").get("code") == 119,
              "the new scope to be in force")
    # A board whose session lives is not renewed.
    renewed = act(owner, "boards", "renew", "--label", "barn", status=1)
    assert not any(o["done"] for o in renewed.values())


def test_names_are_numbered_in_the_order_of_the_present_ones(owner, boards):
    renamed = act(owner, "boards", "rename", "--label", "barn", "stable-{n}")
    assert {old: o["result"]["name"] for old, o in renamed.items()} == {
        "away": "stable-1", "east": "stable-2", "west": "stable-3"}
    again = act(owner, "boards", "rename", "--label", "barn", "stable-{n}")
    assert sorted(again) == ["stable-1", "stable-2", "stable-3"]
    assert all(o["result"]["name"] == name for name, o in again.items())


@pytest.mark.parametrize("words", [
    ("sessions", "extend", "--label", "barn"), ("sessions", "extend", "x", "9d", "--label", "b"),
    ("sessions", "extend", "--label", "barn", "soon"), ("boards", "rename", "--label", "b", "one"),
    ("boards", "rename", "--label", "barn", "{n}-{n}"),
    ("boards", "label", "--label", "barn"), ("boards", "label", "east"),
    ("boards", "label", "east", "a", "--add", "b"), ("boards", "renew"),
    ("boards", "renew", "east", "--label", "barn"),
    ("boards", "renew", "--label", "barn", "--wait", "5s"), ("sessions", "revoke", "--label", "A b"),
    ("sessions", "revoke", "x", "--label", "barn"), ("sessions", "scope", "--label", "barn"),
    ("sessions", "revoke", "--label", "nobody-has-it"),
])
def test_wrong_usage_changes_nothing(owner, boards, words):
    done = owner.cli(*words)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr


def test_no_board_of_others_is_changed(house, owner, boards):  # noqa: F811
    eve = house.user("eve", "--claim")
    assert eve.cli("sessions", "revoke", "--label", "barn").returncode == 2
    assert house.admin.cli("sessions", "revoke", "--label", "barn").returncode == 2
    assert boards["east"].write(b'{"celsius":2}').get("seq")


class Proxy(http.server.ThreadingHTTPServer):
    """Passes requests on. The second change gets no answer: it is held, or its connection ends."""

    daemon_threads = True

    def __init__(self, target: int, holds: bool):
        super().__init__(("127.0.0.1", 0), ProxyHandler)
        self.target, self.holds, self.changes = target, holds, 0
        self.met, self.end = threading.Event(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class ProxyHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.changes += self.command == "PUT"
        if self.server.changes == 2:
            self.server.met.set()
            if self.server.holds:
                self.server.end.wait(60)
            return
        status, text = forwarded(self, self.server.target, body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_PUT = do_GET

    def log_message(self, *_) -> None:
        pass


@pytest.mark.parametrize("holds, words, status", [
    (False, "closed the connection", 5), (True, "interrupted; it may have been done", 130),
], ids=["cut", "interrupted"])
def test_a_group_that_stops_says_where(
        house, owner, boards, tmp_path, holds, words, status):  # noqa: F811
    far = Person(house, owner.name, owner.password_file, tmp_path / "profile")
    with Proxy(house.http_port, holds) as proxy:
        place = ("--authority", f"http://127.0.0.1:{proxy.server_port}")
        far.must(*place, "login", "--username", far.name, "--password-file", far.password_file)
        house.evidence.add_secret(f"the session token of the login {status}", far.token)
        house.evidence.ours.add(far.profile / "profile.json")
        argv = far._argv(*place, "boards", "label", "--label", "barn", "--add", "wet", "--json")
        program = Program(f"group-{status}", argv, house.folder).start()
        try:
            assert proxy.met.wait(60), program.log
            if holds:
                program.process.send_signal(signal.SIGINT)
            until(lambda: not program.is_running, "the command to end", 60)
            ended = program.process.poll()
        finally:
            proxy.end.set()
            program.close()
            proxy.shutdown()
    outcomes = json.loads(program.out.read_text())
    assert ended == status and [o["done"] for o in outcomes] == [True, False, False], program.log
    assert words in outcomes[1]["error"] and outcomes[2]["error"] == "not tried"
    assert [line[0] for line in program.log.splitlines()] == ["✓", "✗", "✗", "p"]


def test_each_living_session_of_the_group_is_revoked(owner, boards):
    revoked = act(owner, "sessions", "revoke", "--label", "barn", status=3)
    assert sum(o["done"] for o in revoked.values()) == 2
    for name in ("east", "west"):
        boards[name].wait_session("unavailable")
