"""Alerts on phones: encrypted for one browser, signed, for its own person, and forgotten."""

import http.client
import json

import pytest

from bench.authority_bench import ADMIN, AuthorityBench
from bench.push_server import PushBrowser, PushServer, claims_of
from bench.waiting import until
from conftest import assert_nothing_leaked

# A board counts as offline after 4 s, so the authority looks once a second.
QUICK = 'heartbeat = "2s"\nspread = "0s"\n[alerts]\noffline_after = "4s"\npush = true\n'


@pytest.fixture(scope="module")
def server():
    server = PushServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def bench(tmp_path_factory, evidence, programs, server):
    bench = AuthorityBench(
        tmp_path_factory.mktemp("authority"), evidence, programs,
        QUICK + f'push_services = ["{server.origin}"]\n')
    yield bench
    bench.close()


class Login:
    """A login of the administrator, of one test; it ends with the `with`."""

    def __init__(self, bench):
        self.bench = bench
        self.token = ""
        status, answer = self.ask("POST", "/parse/login", {
            "username": ADMIN, "password": bench.password_file.read_text()})
        assert status == 200, answer
        self.token = answer["sessionToken"]
        bench.evidence.add_secret("a session token", self.token)

    def ask(self, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
        connection = http.client.HTTPConnection("127.0.0.1", self.bench.http_port, timeout=60)
        headers = {"X-Parse-Application-Id": "postern", "Content-Type": "application/json"}
        if self.token:
            headers["X-Parse-Session-Token"] = self.token
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        finally:
            connection.close()

    def push(self, method: str, body: dict | None = None) -> tuple[int, dict]:
        return self.ask(method, "/postern/v1/push", body)

    def log_out(self) -> None:
        self.ask("POST", "/parse/logout")

    def __enter__(self) -> "Login":
        return self

    def __exit__(self, *_) -> None:
        self.log_out()


def test_an_alert_reaches_its_browser_and_nobody_can_read_it(bench, server):
    with Login(bench) as login:
        browser = PushBrowser(server, "/one")
        status, before = login.push("GET")
        assert status == 200 and before["endpoint"] is None
        assert login.push("PUT", browser.subscription) == (200, {})
        assert login.push("GET")[1] == {**before, "endpoint": f"{server.origin}/one"}
        board = bench.live_board("Gewächshaus")
        headers, body = until(lambda: server.of("/one"), "the alert", 60)[0]
        said = browser.read(body)
        assert "Gewächshaus is offline" in said["body"] and "board-offline" in said["title"]
        assert said["path"] == f"#/boards/{board.iid}"
        assert b"is offline" not in body
        assert claims_of(headers["authorization"], before["key"])["aud"] == server.origin
        assert headers["content-encoding"] == "aes128gcm" and int(headers["ttl"]) > 0
        assert headers["topic"] == said["tag"].replace("-", "") and headers["urgency"] == "high"
        bench.evidence.add_secret("a browser's secret", browser.subscription["keys"]["auth"])


def test_a_browser_that_is_gone_is_forgotten(bench, server):
    with Login(bench) as login:
        server.statuses["/gone"] = 410
        assert login.push("PUT", PushBrowser(server, "/gone").subscription)[0] == 200
        bench.live_board("shed")
        until(lambda: server.of("/gone"), "an alert", 60)
        until(lambda: login.push("GET")[1]["endpoint"] is None, "the browser to be forgotten", 60)


def test_a_failure_is_tried_again_and_holds_nobody_up(bench, server):
    with Login(bench) as broken, Login(bench) as well:
        server.statuses["/broken"] = 500
        broken.push("PUT", PushBrowser(server, "/broken").subscription)
        browser = PushBrowser(server, "/well")
        well.push("PUT", browser.subscription)
        bench.live_board("first")
        until(lambda: server.of("/broken"), "the broken one to be tried", 60)
        bench.live_board("second")
        until(lambda: any("second" in browser.read(body)["body"]
                          for _, body in server.of("/well")), "the next alert", 60)
        assert broken.push("GET")[1]["endpoint"] is not None
        del server.statuses["/broken"]


def test_a_logout_ends_it(bench, server):
    login = Login(bench)
    login.push("PUT", PushBrowser(server, "/left").subscription)
    login.log_out()
    with Login(bench) as other:
        other.push("PUT", PushBrowser(server, "/stays").subscription)
        bench.live_board("third")
        until(lambda: server.of("/stays"), "an alert", 60)
    assert not server.of("/left")


@pytest.mark.parametrize("change", [
    {"endpoint": "https://10.0.0.1/a"}, {"endpoint": "http://127.0.0.1:1/a"},
    {"endpoint": "https://fcm.googleapis.com/a"}, {"endpoint": 1}, {"keys": {}},
    {"keys": {"p256dh": "BA", "auth": "AAAAAAAAAAAAAAAAAAAAAA"}},
])
def test_other_addresses_and_keys_are_refused(bench, server, change):
    with Login(bench) as login:
        subscription = PushBrowser(server, "/refused").subscription
        status, answer = login.push("PUT", {**subscription, **change})
        assert status == 400 and answer["error"]
        assert login.push("GET")[1]["endpoint"] is None


def test_key_stays_over_a_restart(bench):
    with Login(bench) as login:
        key = login.push("GET")[1]["key"]
        bench.server.stop()
        bench.start()
        assert login.push("GET")[1]["key"] == key


def test_leaves_no_secret_in_logs_and_output(evidence):
    assert_nothing_leaked(evidence)
