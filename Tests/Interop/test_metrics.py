"""The figures that the agent and the authority give out, as Prometheus reads them."""

import contextlib
import http.client
import json
import re
import socket
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from agent_fixtures import make_bench  # noqa: F401, fixture
from bench.program import free_port
from bench.waiting import until
from house_fixtures import house  # noqa: F401, fixture

DASHBOARD = Path(__file__).resolve().parents[2] / "Devices" / "grafana" / "postern.json"


@pytest.fixture(scope="module")
def authority_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def house_settings(authority_port) -> str:
    return f'[metrics]\nlisten = "127.0.0.1:{authority_port}"\n'


class Figures:
    """One scrape: families by name, and samples by name and labels."""

    def __init__(self, text: str):
        self.families = {f.name: f for f in text_string_to_metric_families(text)}
        self.samples = {
            (s.name, tuple(sorted(s.labels.items()))): s.value
            for f in self.families.values() for s in f.samples
        }

    def __getitem__(self, name: str) -> float:
        return self.samples[name, ()]

    def of(self, name: str, **labels) -> float:
        return self.samples[name, tuple(sorted(labels.items()))]

    def names(self) -> set[str]:
        """As an expression may use them: of families, and of their samples."""
        return {name for name, _ in self.samples} | {
            f.name + ("_total" if f.type == "counter" else "") for f in self.families.values()}


def get(port: int, path: str = "/metrics", host: str | None = None, method: str = "GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest(method, path, skip_host=host is not None)
    if host is not None:
        connection.putheader("Host", host)
    connection.endheaders()
    with contextlib.closing(connection):
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read().decode()


def scrape(port: int) -> Figures:
    status, kind, text = get(port)
    assert status == 200 and kind == "text/plain; version=0.0.4; charset=utf-8"
    return Figures(text)


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def bench(make_bench, port):
    return make_bench(settings=f'[metrics]\nlisten = "127.0.0.1:{port}"\n', policy=(
        '[[rule]]\nclass = "Reading"\nallow = ["create"]\n[[rule]]\nclass = "*"\nallow = []\n'))


def test_the_numbers_are_those_of_status(bench, port):
    board = bench.live()
    app = bench.app()
    for n in range(7):
        app.write("Reading", b"%d" % n)
    for _ in range(3):
        app.write("Other")
    bench.wait_data(board, b"6")
    until(lambda: scrape(port)["postern_queue_messages"] == 0, "the queue to empty", 60)
    begun = time.time()
    figures = scrape(port)
    ended, status = time.time(), bench.status()
    assert figures.of("postern_build_info", version=status["version"]) == 1
    assert figures["postern_session_available"] == 1
    assert figures.of("postern_session_state", state="available") == 1
    assert figures.of("postern_session_state", state="revoked") == 0
    assert figures["postern_messages_accepted_total"] == 7 == status["lastSequence"]
    assert figures["postern_messages_forwarded_total"] == 7
    assert figures["postern_queue_limit_bytes"] == status["queue"]["limit"]
    assert figures["postern_uplink_up"] == figures["postern_bus_up"] == 1
    # The first connection, and the one under the password that the provisioning brought.
    assert figures["postern_uplink_connects_total"] >= 2
    refused = {(r["app"], r["rule"]): r["count"] for r in status["refusals"]}
    assert refused and sum(refused.values()) == 3
    for (app_name, rule), count in refused.items():
        name = "postern_messages_refused_total"
        assert figures.of(name, app=app_name, rule=rule) == count
    # Whole seconds, and the scrape is somewhere between its begin and its end.
    assert begun - 5 < (
        figures["postern_heartbeat_age_seconds"] + status["validatedAt"]) < ended + 5
    assert begun - 5 < (
        status["offlineUntil"] - figures["postern_session_offline_seconds"]) < ended + 5
    assert figures["postern_clock_set"] == 1 and figures["postern_degraded"] == 0


def test_a_queue_that_waits_is_counted(bench, port):
    bench.live()
    bench.broker.stop() if hasattr(bench.broker, "stop") else bench.broker.program.stop()
    app = bench.app()
    for n in range(5):
        app.write("Reading", b"%d" % n)
    figures = until(lambda: (f := scrape(port))["postern_queue_messages"] == 5
                    and f["postern_uplink_up"] == 0 and f, "5 waiting", 60)
    status, later = bench.status()["queue"], scrape(port)
    assert (figures["postern_queue_messages"], figures["postern_queue_bytes"]) == (
        status["messages"], status["bytes"])
    assert (figures["postern_queue_oldest_seconds"] - 2 <= status["oldestAge"]
            <= later["postern_queue_oldest_seconds"] + 2)
    assert figures["postern_queue_in_bytes_per_second"] > 0


def test_nothing_secret_is_among_them(bench, port):
    bench.live()
    _, _, text = get(port)
    bench.evidence.texts.append(("figures", text.encode()))
    held = bench.session_now["session"]
    assert held["objectId"] not in text and held["user"] not in text
    assert bench.status()["installationId"] not in text


@pytest.mark.parametrize("host,status", [
    ("localhost", 200), ("127.0.0.1", 200), ("[::1]:9100", 200),
    ("evil.example", 421), ("127.0.0.1.evil.example", 421)])
def test_a_page_elsewhere_gets_nothing(bench, port, host, status):
    bench.start()
    assert get(port, host=host)[0] == status


def test_what_is_no_scrape_is_refused(bench, port):
    bench.start()
    assert get(port, "/")[0] == 404
    assert get(port, method="POST")[0] == 405
    for bad in (b"\r\n\r\n", b"\x00\x01\x02\r\n\r\n", b"x" * 9000, b"GET /metrics\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
            raw.sendall(bad)
            assert re.match(rb"HTTP/1.1 4\d\d ", raw.recv(4096))
    assert scrape(port)["postern_bus_up"] == 1


def test_silent_clients_take_no_room_for_long(bench, port):
    bench.live()
    silent = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(20)]
    # The agent waits for nobody.
    bench.app().write("Reading")
    # Sixteen have the room; the next waits until they are dropped, 5 s after they came.
    assert get(port)[0] == 200
    for one in silent:
        one.close()


def test_a_unix_socket_serves_its_group_alone(make_bench, tmp_path):
    path = tmp_path / "run" / "m.sock"
    if len(str(path)) > 100:
        pytest.skip("this folder's name is too long for a socket")
    bench = make_bench(settings=f'[metrics]\nlisten = "unix:{path}"\n')
    bench.start()
    assert path.stat().st_mode & 0o777 == 0o660
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(path))
        raw.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        text = b"".join(iter(lambda: raw.recv(65536), b"")).decode()
    assert Figures(text.partition("\r\n\r\n")[2])["postern_session_available"] == 0
    bench.agent.stop()
    assert not path.exists()


def test_a_taken_port_keeps_no_agent_from_forwarding(bench, port):
    with socket.create_server(("127.0.0.1", port)):
        board = bench.live()
        bench.app().write("Reading", b"1")
        bench.wait_data(board, b"1")
    assert "metrics are not available" in bench.agent.log


def test_the_authority_counts_boards_sessions_and_requests(house, authority_port):
    board = house.live("attic")
    figures = until(
        lambda: (f := scrape(authority_port))["postern_authority_boards_up"] == 1
        and f["postern_authority_session_ends_seconds"] > 0 and f,
        "the board to be counted as up", 60)
    assert figures["postern_authority_boards"] == 1
    assert figures.of("postern_authority_sessions", of="board") == 1
    assert figures.of("postern_authority_sessions", of="person") >= 1
    assert figures["postern_authority_broker_up"] == 1
    assert figures["postern_authority_database_bytes"] > 4096
    assert figures["postern_authority_data_waiting"] == 0
    assert figures.of("postern_authority_data_unkept_total", reason="no-seq") == 0
    name = "postern_authority_requests_total"
    assert figures.of(name, type="provision.accepted") >= 1
    house.revoke(board.session_id)
    until(lambda: scrape(authority_port).samples.get(
        ("postern_authority_sessions_ended", (("reason", "revoked"),))) == 1,
          "the end counted", 60)
    assert board.iid not in get(authority_port)[2]


def refusals(port: int) -> dict[str, float]:
    name = "postern_authority_refusals_total"
    return {labels[0][1]: value for (family, labels), value in scrape(port).samples.items()
            if family == name}


def test_the_authority_counts_who_was_refused_and_why(house, authority_port):
    before = refusals(authority_port)
    assert set(before) == {"forbidden", "master-key", "client-key", "malformed-token",
                           "unknown-token", "board-token", "foreign-token"}
    wrong = {"unknown-token": {"X-Parse-Session-Token": "r:" + "D" * 42 + "A"},
             "malformed-token": {"X-Parse-Session-Token": "short"},
             "master-key": {"X-Parse-Master-Key": "wrong-master-key"}}
    for headers in wrong.values():
        connection = http.client.HTTPConnection("127.0.0.1", house.http_port, timeout=60)
        connection.request("GET", "/parse/sessions",
                           headers={"X-Parse-Application-Id": "postern", **headers})
        with contextlib.closing(connection):
            assert connection.getresponse().status >= 400
    after = refusals(authority_port)
    for reason in before:
        assert after[reason] - before[reason] == (reason in wrong), reason
        assert (f"reason={reason}" in house.server.log) == (reason in wrong)
    assert "wrong-master-key" not in house.server.log
    assert "D" * 42 not in house.server.log


def test_the_dashboard_asks_for_figures_that_there_are(bench, port, house, authority_port):
    bench.live()
    known = scrape(port).names() | scrape(authority_port).names()
    dashboard = json.loads(DASHBOARD.read_text())
    assert dashboard["schemaVersion"] >= 36 and dashboard["uid"] and not dashboard["id"]
    assert [v["type"] for v in dashboard["templating"]["list"]][0] == "datasource"
    asked = set()
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            asked |= set(re.findall(r"\bpostern_[a-z_]+", target["expr"]))
            assert target["datasource"]["uid"] == "${datasource}"
    # Absent until the board's broker tells, or while nothing waits.
    known |= {"postern_bus_dropped_total"}
    assert asked and asked <= known, asked - known
