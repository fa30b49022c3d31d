"""The short code before an authority that lies, and behind TLS of an authority's own CA."""

import http.server
import json
import secrets
import ssl
import threading
import urllib.request

import pytest

from bench.pair_screen import Screen
from bench.tls_house import TLSHouse
from bench.waiting import until
from house_fixtures import house, house_settings  # noqa: F401, fixtures
from postern_contract.claim_url import ClaimURL

POLL = secrets.token_urlsafe(32)
GOOD = {"code": "BCDF-GHJK", "poll": POLL, "expiresIn": 600, "interval": 1}


class Liar(http.server.ThreadingHTTPServer):
    """Answers each path as a test says: `(status, body)`, and keeps what it was sent."""

    daemon_threads = True

    def __init__(self, **answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = {"": (201, GOOD), "poll": (200, {"state": "waiting"}),
                        "confirm": (200, {"state": "refused"})} | answers
        self.retry_after = "1"
        self.sent: list[tuple[str, bytes]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/claim"

    def asked(self, path: str) -> list[dict]:
        return [json.loads(body) for one, body in self.sent if one == path]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path = self.path.removeprefix("/postern/v1/claim-codes").strip("/")
        self.server.sent.append((path, body))
        status, answer = self.server.answers.get(path, (404, {}))
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        if status == 307:
            self.send_header("Location", f"{self.server.base}/elsewhere")
        if status in (429, 503):
            self.send_header("Retry-After", self.server.retry_after)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:
            pass

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def liar():
    made: list[Liar] = []

    def make(**answers) -> Liar:
        made.append(Liar(**answers))
        return made[-1]

    yield make
    for one in made:
        one.shutdown()
        one.server_close()


def add(house, liar: Liar):
    return house.add_board("lied to", agent_env={"POSTERN_CLAIM_BASE": liar.base}).start()


def assert_kept(liar: Liar, url: str) -> None:
    """The claim secret is in nothing that was sent."""
    secret = url.partition("&c=")[2].partition("&")[0]
    assert len(secret) == 43
    assert not any(secret.encode() in body for _, body in liar.sent)


@pytest.mark.parametrize("answer", [
    (307, GOOD), (201, b"<html>"), (201, b""), (201, b"[]"), (500, b"oops"), (404, {}),
    (201, b'{"code":"BCDF-GHJK","x":"' + b"x" * 200_000 + b'"}'),
    (201, GOOD | {"code": "BCDF\u001b[2J"}), (201, GOOD | {"poll": "short"}),
    (201, GOOD | {"poll": 7}), (201, GOOD | {"interval": 0}), (201, GOOD | {"expiresIn": 10**12}),
    (201, GOOD | {"interval": -1}), (429, {"code": 101, "error": "nobody\u001b[2J"}),
], ids=range(14))
def test_no_answer_but_a_right_one_gives_a_code(house, liar, answer):
    lies = liar(**{"": answer})
    board = add(house, lies)
    screen = Screen(board, lies.base)
    url = screen.url()
    shown = screen.end()
    assert screen.status == 0 and "no short code: " in shown and "\u001b" not in shown
    assert [path for path, _ in lies.sent] == [""], "no redirect was followed"
    assert set(lies.asked("")[0]) == {"installationId", "deviceKey", "name"}
    assert_kept(lies, url)


@pytest.mark.parametrize("named", [
    {"username": "ada\u202e"}, {"username": "a\u200bda"}, {"username": "ada\nyes"},
    {"username": "ada\u001b[1A"}, {"username": ""}, {"username": "x" * 600}, {"username": None},
    {"authority": "Home\u001b[2K"}, {"authority": 1},
], ids=range(9))
def test_a_name_that_would_look_like_another_is_never_asked_about(house, liar, named):
    lies = liar(poll=(200, {"state": "named", "username": "ada", "authority": "Home"} | named))
    board = add(house, lies)
    screen = Screen(board, lies.base)
    url = screen.url()
    screen.wait("no answer, trying again: its answer cannot be read")
    screen.type("y")
    before = len(lies.asked("poll"))
    until(lambda: len(lies.asked("poll")) >= before + 2, "two more polls", 60)
    assert "Is that you" not in screen.shown
    assert_kept(lies, url)
    lies.answers["poll"] = (404, {"code": 101, "error": "this code is over"})
    assert "this code is over" in screen.end()


def test_only_a_yes_after_the_question_sends_the_secret(house, liar):
    lies = liar(poll=(200, {"state": "named", "username": "ada", "authority": "Home"}),
                confirm=(200, {"state": "claimed"}))
    board = add(house, lies)
    for answer in ("", "n", "yy", "yes please", "Y "):
        screen = Screen(board, lies.base)
        screen.wait("Is that you? [y/N]")
        screen.type(answer)
        assert "refused" in screen.end()
        assert_kept(lies, screen.url())
    assert lies.asked("confirm") == [{"poll": POLL, "refuse": True}] * 5
    screen = Screen(board, lies.base)
    screen.wait("Is that you? [y/N]")
    screen.type("YES")
    screen.wait("✓ confirmed")
    secret = screen.url().partition("&c=")[2].partition("&")[0]
    assert lies.asked("confirm")[-1] == {"poll": POLL, "claimSecret": secret}
    # The authority lied: no claim came. The board says so, and nothing else has changed.
    assert "the claim has not arrived yet" in screen.end()
    assert board.session_now["state"] == "unavailable"


def test_an_authority_that_comes_back_goes_on(house, liar):
    lies = liar(poll=(503, {"code": 155, "error": "overloaded"}))
    screen = Screen(add(house, lies), lies.base)
    # A refusal that may pass ends nothing: the next poll is answered.
    screen.wait("no answer, trying again")
    lies.answers["poll"] = (200, {"state": "named", "username": "ada", "authority": "Home"})
    screen.wait("ada wants to claim this board")
    screen.type("n")
    screen.end()


def test_pair_waits_for_room(house, liar):
    lies = liar(**{"": (429, {"code": 155, "error": "too many\u001b[2J"})})
    screen = Screen(add(house, lies), lies.base)
    screen.wait("no code for now: too many[2J")
    until(lambda: len(lies.asked("")) >= 3, "it to ask again", 60)
    assert "\u001b" not in screen.shown and "or type" not in screen.shown
    lies.answers[""] = (201, GOOD)
    assert screen.code() == GOOD["code"]
    assert_kept(lies, screen.url())
    lies.answers["poll"] = (404, {"code": 101, "error": "this code is over"})
    screen.end()


def test_the_qr_code_ends_the_wait_for_room(house, liar):
    lies = liar(**{"": (429, {"code": 155, "error": "too many"})})
    lies.retry_after = "3600"
    screen = Screen(add(house, lies), lies.base)
    screen.wait("no code for now: too many")
    house.admin.claim("postern://claim#" + screen.url().partition("#")[2]).must_end()
    assert "✓ ada has claimed this board" in screen.end()
    assert len(lies.asked("")) == 1


def test_a_wait_ends_with_the_code(house, liar):
    lies = liar(**{"": (201, GOOD | {"expiresIn": 10})},
                poll=(503, {"code": 155, "error": "overloaded"}))
    lies.retry_after = "3600"
    screen = Screen(add(house, lies), lies.base)
    assert "the code BCDF-GHJK is over" in screen.end()
    assert len(lies.asked("poll")) < 2


@pytest.fixture(scope="module")
def tls_house(tmp_path_factory, evidence, programs):
    house = TLSHouse(tmp_path_factory.mktemp("tls"), evidence, programs)
    assert house.login("--ca-fingerprint", house.fingerprint).returncode == 0
    yield house
    house.close()


def ask(house: TLSHouse, verb: str, code: str) -> dict:
    token = json.loads((house.folder / "profile" / "profile.json").read_text())["sessionToken"]
    request = urllib.request.Request(
        f"{house.url}/postern/v1/claim-codes/{verb}", json.dumps({"code": code}).encode(),
        {"X-Parse-Application-Id": "postern", "X-Parse-Session-Token": token,
         "Content-Type": "application/json"})
    context = ssl.create_default_context(cafile=str(house.ca_file))
    with urllib.request.urlopen(request, timeout=60, context=context) as answer:
        return json.load(answer)


def test_the_own_ca_is_trusted_by_name_alone(tls_house):
    base = f"{tls_house.url}/claim"
    board = tls_house.board("code-tls", agent_env={"POSTERN_CLAIM_BASE": base}).start()
    screen = Screen(board, base)
    screen.url()
    assert "no short code: curl: (60)" in screen.end() and "ca_file under [claim]" in screen.shown
    screen = Screen(board, base, env={"POSTERN_CLAIM_CA_FILE": str(tls_house.ca_file)})
    code = screen.code()
    ask(tls_house, "claim", code)
    screen.wait("ada wants to claim this board at TLS house")
    screen.type("y")
    assert "✓ ada has claimed this board" in screen.end()
    board.wait_session("available")
    assert ask(tls_house, "progress", code)["claim"]["state"] == "accepted"
    assert ClaimURL.parse(screen.url()).claim_secret
