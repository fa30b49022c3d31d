"""What the Swift library `PosternSession` does with answers that no authority should give."""

import json
import threading
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench.phone import Phone
from bench.tls_house import TLSHouse
from swift_fixtures import session_app  # noqa: F401, a fixture

# The library is built first, which takes minutes.
pytestmark = pytest.mark.slow

TOKEN = "r:" + "5b0e" * 8
SESSION = {"objectId": "AbCdEfGhIj", "restricted": False, "createdAt": "2026-01-02T03:04:05.678Z",
           "createdWith": {"action": "login", "authProvider": "password"}, "expiresAt": None}
BOARD = {"installationId": "3f1f7c0e-2b7a-4d4e-9c55-0123456789ab", "name": "böard", "owner": "ana"}


class Pretender:
    """A server that takes any login. `answers` has, for a path, status, headers and body."""

    def __init__(self):
        self.seen = []
        self.answers = {
            "/postern/v1/info": self.json({"applicationId": "postern", "parsePath": "/parse"}),
            "/postern/v1/login": self.json({"sessionToken": TOKEN}),
            "/postern/v1/me": self.json({
                "user": {"objectId": "u1", "username": "ana"}, "session": SESSION}),
        }
        pretender = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                pretender.seen.append((self.path, dict(self.headers)))
                status, headers, parts = pretender.answers.get(self.path, (404, {}, [b""]))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    for part in parts:
                        self.wfile.write(part)
                        self.wfile.flush()
                except ConnectionError:
                    pass

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def count(self, path: str) -> int:
        return [path for path, _ in self.seen].count(path)

    @staticmethod
    def json(value) -> tuple:
        return 200, {"Content-Type": "application/json"}, [json.dumps(value).encode()]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def pretender():
    pretender = Pretender()
    yield pretender
    pretender.close()


@pytest.fixture
def phone(session_app, tmp_path, evidence):  # noqa: F811
    phone = Phone(session_app, tmp_path, evidence).start()
    yield phone
    phone.close()


@pytest.fixture
def logged_in(phone, pretender):
    phone.open(pretender.url, kept=False)
    phone.ask("login", username="ana", password="any")
    return phone


OVER = json.dumps({"code": 209, "error": "invalid session token"}).encode()


def test_a_storage_that_fails_at_a_logout_is_the_error(phone, pretender):
    phone.ask("open", authority=pretender.url, trouble="stuck")
    phone.ask("login", username="ana", password="any")
    # The authority refuses, too.
    error = phone.fault("logout")
    assert error["kind"] == "storage" and "stuck" in error["words"]
    assert phone.wait_session("storageAway") == ["loggedOut", "available", "storageAway"]


def test_a_call_under_the_old_session_does_not_end_the_new_one(phone, pretender):
    phone.ask("open", authority=pretender.url, trouble="held")
    phone.ask("login", username="ana", password="any")
    phone.ask("hold")
    login = phone.send("login", username="ana", password="any")
    phone.wait(lambda: phone.events("saving"), "the new session to be saved")
    answered = threading.Event()

    def over():
        answered.wait(60)
        yield OVER

    pretender.answers["/postern/v1/boards"] = (400, {}, over())
    boards = phone.send("boards")
    phone.wait(lambda: pretender.count("/postern/v1/boards"), "the call")
    pretender.answers["/postern/v1/boards"] = Pretender.json({"results": [BOARD]})
    phone.ask("release")
    assert "done" in phone.answer(login)
    answered.set()
    assert phone.answer(boards)["done"][0]["id"] == BOARD["installationId"]
    assert phone.ask("state")["state"] == "available"


def test_a_login_that_fails_half_way_logs_its_token_out(phone, pretender):
    pretender.answers["/postern/v1/me"] = (500, {}, [b"{}"])
    phone.open(pretender.url, kept=False)
    assert phone.fault("login", username="ana", password="any")["kind"] == "refused"
    path, headers = pretender.seen[-1]
    assert (path, headers["X-Parse-Session-Token"]) == ("/parse/logout", TOKEN)


def test_an_app_without_a_new_proof_is_not_asked_at_each_heartbeat(phone, pretender):
    end = (datetime.now(timezone.utc) + timedelta(hours=1)).isoformat(timespec="milliseconds")
    end = {"__type": "Date", "iso": end.replace("+00:00", "Z")}
    pretender.answers["/postern/v1/me"] = Pretender.json({
        "user": {"objectId": "u1", "username": "ana"}, "session": SESSION | {"expiresAt": end}})
    phone.open(pretender.url, kept=False, heartbeat=0.05, renewalMargin=86_400)
    phone.ask("login", username="ana", password="any")
    phone.wait(lambda: phone.events("asked"), "the app to be asked")
    before = pretender.count("/postern/v1/me")
    phone.wait(lambda: pretender.count("/postern/v1/me") > before + 3, "some heartbeats")
    assert len(phone.events("asked")) == 1


def test_the_changes_end_when_the_client_is_freed(logged_in, pretender):
    logged_in.open(pretender.url, kept=False)
    logged_in.wait(lambda: logged_in.events("freed"), "the end of the first client's changes")


def test_a_stream_ends_when_another_person_logs_in(logged_in, pretender):
    pretender.answers["/postern/v1/events"] = (
        200, {"Content-Type": "text/event-stream"}, [b"event: hello\ndata: {}\n\n"])
    logged_in.send("follow")
    logged_in.wait(lambda: logged_in.events("connected"), "the stream")
    pretender.answers["/postern/v1/me"] = Pretender.json({
        "user": {"objectId": "u2", "username": "bea"}, "session": SESSION})
    logged_in.ask("login", username="bea", password="any")
    ended = logged_in.wait(lambda: logged_in.events("ended"), "the end of the stream")
    assert ended[0]["error"]["kind"] == "cancelled"


def test_the_app_of_the_page_shows_its_boards_after_a_bad_answer(phone, pretender):
    pretender.answers["/postern/v1/events"] = (
        200, {"Content-Type": "text/event-stream"}, [b"event: hello\ndata: {}\n\n"])
    pretender.answers["/postern/v1/boards"] = (200, {}, [b"not JSON"])
    phone.open(pretender.url, kept=False)
    shown = phone.send("house", username="ana", password="any")
    phone.wait(lambda: pretender.count("/postern/v1/boards"), "the bad answer")
    pretender.answers["/postern/v1/boards"] = Pretender.json({"results": [BOARD]})
    assert phone.answer(shown)["done"][0]["name"] == BOARD["name"]


def test_no_redirect_is_followed(logged_in, pretender):
    elsewhere = Pretender()
    try:
        pretender.answers["/postern/v1/boards"] = (
            302, {"Location": f"{elsewhere.url}/postern/v1/boards"}, [b""])
        error = logged_in.fault("boards")
        assert error["kind"] == "refused" and "302" in error["words"]
        assert elsewhere.seen == []
    finally:
        elsewhere.close()


def test_the_token_goes_out_in_a_header_and_no_address_has_it(logged_in, pretender):
    logged_in.ask("heartbeat")
    path, headers = pretender.seen[-1]
    assert headers["X-Parse-Session-Token"] == TOKEN
    assert headers["X-Parse-Application-Id"] == "postern"
    assert [path for path, _ in pretender.seen if TOKEN in path] == []


@pytest.mark.parametrize("body", [
    b"not JSON", b"[]", b'{"results":[{"name":"x"}]}', b'{"results":7}', b"\xff\xfe",
])
def test_an_answer_of_another_form_is_an_error(logged_in, pretender, body):
    pretender.answers["/postern/v1/boards"] = (200, {}, [body])
    assert logged_in.fault("boards")["kind"] == "malformedAnswer"


def test_a_huge_answer_is_not_read(logged_in, pretender):
    pretender.answers["/postern/v1/boards"] = (200, {}, (b" " * (1 << 20) for _ in range(1000)))
    error = logged_in.fault("boards")
    assert error["kind"] == "malformedAnswer" and "bytes" in error["words"]


def test_events_come_in_any_pieces(logged_in, pretender):
    text = ("retry: 2000\n\n: a comment\r\n\r\nevent: hello\rdata: {}\r\r"
            "event: unknown\ndata: {}\n\nevent: board\ndata: {\ndata:"
            f"{json.dumps(BOARD, ensure_ascii=False)[1:]}\n\nevent: board\ndata: half").encode()
    pretender.answers["/postern/v1/events"] = (
        200, {"Content-Type": "text/event-stream; charset=utf-8"},
        [bytes([byte]) for byte in text])
    number = logged_in.send("follow")
    board = logged_in.wait(lambda: logged_in.events("board"), "the board")[0]["board"]
    assert (board["name"], board["online"]) == ("böard", False)
    # The stream ended, so it is opened again.
    logged_in.wait(lambda: len(logged_in.events("connected")) > 1, "the next connection")
    logged_in.ask("stop", seconds=number)


def test_a_huge_event_ends_the_stream(logged_in, pretender):
    pretender.answers["/postern/v1/events"] = (
        200, {"Content-Type": "text/event-stream"},
        (b"data: " + b"x" * (1 << 16) for _ in range(1000)))
    logged_in.send("follow")
    ended = logged_in.wait(lambda: logged_in.events("ended"), "the end of the stream")
    assert ended[0]["error"]["kind"] == "malformedAnswer"


@pytest.mark.parametrize("address", [
    "http://authority.example", "ftp://127.0.0.1", "https://", "https://ana@authority.example",
    "authority.example", "https://authority.example/?a=b",
])
def test_an_address_that_would_show_the_token_is_refused(phone, address):
    assert phone.fault("open", authority=address)["kind"] == "invalid"


def test_a_certificate_is_verified(phone, programs, tmp_path_factory, evidence):
    # A short path: its sockets lie in it.
    house = TLSHouse(tmp_path_factory.mktemp("tls"), evidence, programs)
    try:
        phone.open(house.url)
        error = phone.fault(
            "login", username="ada", password=house.password_file.read_text())
        assert error["kind"] == "tls" and "certificate" in error["words"]
    finally:
        house.close()
