"""An authority whose database is not there when it starts, and one that will never let it in."""

import contextlib
import http.client
import json
import socket
import time

import pytest

from bench.program import Program, free_port, run
from bench.service_manager import ServiceManager
from bench.waiting import until
from postgres_server import (
    PASSWORD, PostgresServer, StandbyServer, programs as postgres_programs)

pytestmark = pytest.mark.slow

APPLICATION = {"X-Parse-Application-Id": "postern"}


class Place:
    """One authority's files; its broker is nowhere, and nobody needs it here."""

    def __init__(self, folder, programs, uri: str):
        self.folder, self.programs = folder, programs
        self.http = free_port()
        self.etc, state = folder / "etc", folder / "state"
        self.etc.mkdir(mode=0o700)
        state.mkdir(mode=0o700)
        self.password = self._secret("database-password", PASSWORD)
        self.admin = self._secret("admin-password", "correct horse battery")
        text = (
            f'store = "{uri}"\nstate_dir = "{state}"\n'
            f'[postgres]\npassword_file = "{self.password}"\n'
            f'[http]\nlisten = "127.0.0.1:{self.http}"\npublic_url = "{self.url}"\n'
            f'[broker]\nmode = "external"\nuri = "mqtt://127.0.0.1:{free_port()}"\n'
            'access = "none"\n')
        config = self.etc / "authority.toml"
        config.touch(0o640)
        config.write_text(text)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http}"

    @property
    def health(self) -> int:
        return self.ask("/postern/v1/health")[0]

    def authority(self, *arguments) -> list:
        return [self.programs / "postern-authority", "--config-dir", self.etc, *arguments]

    def found(self) -> None:
        done = run(self.authority("init", "--admin", "ada", "--password-file", self.admin),
                   timeout=60)
        assert done.returncode == 0, done.stderr

    def ask(self, path: str) -> tuple[int, dict]:
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=60)
        try:
            connection.request("GET", path, headers=APPLICATION)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        except OSError:
            return 0, {}
        finally:
            connection.close()

    def log_in(self):
        return run([self.programs / "postern", "--authority", self.url, "login", "--username",
                    "ada", "--password-file", self.admin],
                   env={"XDG_CONFIG_HOME": str(self.folder / "xdg")})

    def _secret(self, name: str, text: str):
        path = self.folder / name
        path.touch(0o600)
        path.write_text(text)
        return path


@pytest.fixture(scope="module")
def server():
    if postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed: nothing was played against it")
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory, programs, server):
    server.new_database("away")
    place = Place(tmp_path_factory.mktemp("away"), programs, server.tcp_uri("away"))
    place.found()
    return place


@pytest.fixture
def serving(place):
    program = Program("authority", place.authority("serve"), place.folder)
    yield program
    program.close()


@pytest.fixture
def manager():
    made = ServiceManager(60)
    yield made
    made.close()


def test_it_waits_for_its_database_and_then_serves(place, server, serving):
    server.stop()
    try:
        serving.start()
        until(lambda: place.health == 503, "somebody to say 503", 60)
        assert place.ask("/postern/v1/health") == (503, {"status": "store-away"})
        status, answer = place.ask("/postern/v1/info")
        assert (status, answer["name"]) == (503, "store-away")
        login = place.log_in()
        assert login.returncode == 5 and "the store is not available" in login.stderr
        done = run(place.authority("doctor", "--json", "--dont-run", "broker-login"), timeout=60)
        checks = {check["id"]: check for check in json.loads(done.stdout)["checks"]}
        assert checks["database"]["result"] == "failed"
        assert checks["state"]["result"] == "skipped", checks["state"]
        assert serving.is_running and "waiting for the database" in serving.log
    finally:
        server.start()
    serving.wait_ready(lambda: place.health == 200, "to serve", 60)
    assert "the database is available" in serving.log
    # Gone again, it tells strangers nothing of it.
    server.stop()
    try:
        until(lambda: place.health == 503, "503 again", 60)
        login = place.log_in()
        assert login.returncode == 5 and "the store is not available" in login.stderr
        for word in (str(server.port), "SQLSTATE", "database", "refused"):
            assert word not in login.stderr
        assert "a request failed: store away: the database" in serving.log
    finally:
        server.start()
    until(lambda: place.health == 200, "it to be well again", 60)
    until(lambda: "the database is available again" in serving.log, "it to say so", 60)
    assert serving.stop(30) == 0
    lines = serving.log.splitlines()
    back = [line for line in lines if "the database is available again" in line]
    assert len(back) == 1 and "error" in back[0].split("the database")[0], back
    assert any("error" in line.split("store away: ")[0] for line in lines if "store away: " in line)


@pytest.mark.parametrize("statement", [
    "LOCK TABLE keys IN ACCESS EXCLUSIVE MODE",  # reading the keys
    f"SELECT pg_advisory_xact_lock({0x706F_7374_6572_6E03})",  # comparing the settings
    "LOCK TABLE times IN SHARE MODE",  # noting what time it is
])
def test_one_that_goes_in_the_middle_of_the_start_is_waited_for(place, server, serving, statement):
    with server.doing(statement, "away"):
        serving.start()
        until(lambda: server.query("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0",
              "the start to come to it", 60)
        server.stop(immediate=True)
    try:
        until(lambda: place.health == 503, "somebody to say 503", 60)
        assert serving.is_running and "waiting for the database" in serving.log
    finally:
        server.start()
    serving.wait_ready(lambda: place.health == 200, "to serve", 60)
    assert serving.stop(30) == 0


def test_a_signal_ends_the_wait(place, server, serving, manager):
    server.stop()
    serving.env = serving.env | manager.environment
    manager.look_after(serving)
    try:
        serving.start()
        manager.wait_status("waits for the database", 60)
        # Each failure makes the start's time longer, and it does not count as started.
        until(lambda: manager.times("EXTEND_TIMEOUT_USEC", "600000000"), "more time", 60)
        assert not manager.times("READY")
        until(lambda: place.health == 503, "it to answer", 60)
        assert serving.stop(10) == 0
    finally:
        server.start()


def test_an_outage_of_two_watchdog_intervals_ends_nobody(place, server, serving):
    manager = ServiceManager(12)
    serving.env = serving.env | manager.environment
    manager.look_after(serving)
    try:
        serving.start()
        until(lambda: place.health == 200, "it to serve", 60)
        server.stop()
        try:
            manager.wait_status("the database is not available", 60)
            begun = time.monotonic()
            time.sleep(2 * manager.watchdog + 1)
            assert serving.is_running and not manager.aborted and not manager.restarts
            assert any(at > begun + manager.watchdog for at in manager.times("WATCHDOG"))
        finally:
            server.start()
        until(lambda: place.health == 200, "it to be well again", 60)
        assert serving.stop(30) == 0
    finally:
        manager.close()


def test_a_database_that_takes_over_and_lacks_a_moment_leaves_a_gap(tmp_path, programs):
    if postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed: nothing was played against it")
    with contextlib.ExitStack() as stack:
        primary = stack.enter_context(contextlib.closing(PostgresServer()))
        primary.new_database("pair")
        standby = stack.enter_context(contextlib.closing(StandbyServer(primary)))
        place = Place(
            tmp_path, programs, f"postgres://postern@127.0.0.1:{primary.port},"
            f"127.0.0.1:{standby.port}/pair?target_session_attrs=read-write")
        place.found()
        serving = Program("authority", place.authority("serve"), tmp_path)
        stack.callback(serving.close)
        serving.start()
        until(lambda: place.health == 200, "it to serve", 60)
        assert primary.query("SELECT count(*) FROM gaps", "pair") == "0"
        standby.wait_abreast()
        standby.cut()
        added = run(place.authority("user", "add", "bob", "--password-file", place.admin))
        assert added.returncode == 0, added.stderr
        lost = int(time.time() * 1000)
        primary.stop(immediate=True)
        standby.promote()
        until(lambda: place.health == 200, "it to go on", 60)
        assert standby.query("SELECT count(*) FROM users WHERE username = 'bob'", "pair") == "0"
        until(lambda: "another database has taken over" in serving.log, "it to notice", 60)
        began, ended = until(
            lambda: standby.query("SELECT began, ended FROM gaps", "pair"), "a gap", 30).split("|")
        assert int(began) <= lost <= int(ended)
        assert serving.stop(30) == 0


def test_one_that_hangs_is_waited_for_and_named(place, serving):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        serving.env = serving.env | {
            "POSTERN_STORE": f"postgres://postern@127.0.0.1:{port}/away"}
        serving.start()
        until(lambda: "waiting for the database" in serving.log, "it to wait", 60)
        assert "no answer in 5 s" in serving.log and "sslrootcert" not in serving.log
        assert serving.stop(20) == 0


@pytest.mark.parametrize("env, words", [
    ({"POSTERN_STORE": "postgres://nobody@127.0.0.1:PORT/away"}, "nobody"),
    ({"POSTERN_STORE": "postgres://postern@127.0.0.1:PORT/nowhere"}, "nowhere"),
    ({"POSTERN_STORE": "postgres://postern@127.0.0.1:PORT/away?sslmode=require"}, "SSL"),
    ({"POSTERN_POSTGRES_PASSWORD_FILE": "WRONG"}, "password authentication failed"),
])
def test_what_waiting_does_not_mend_is_configuration(place, server, env, words):
    wrong = place.folder / "wrong-password"
    wrong.touch(0o600)
    wrong.write_text("not the one")
    env = {name: value.replace("PORT", str(server.port)).replace("WRONG", str(wrong))
           for name, value in env.items()}
    done = run(place.authority("serve"), timeout=60, env=env)
    assert done.returncode == 78, done.stderr
    assert words in done.stderr and "; check " in done.stderr
    assert "not the one" not in done.stderr


def test_settings_that_would_split_the_fleet_are_refused_and_can_be_changed(place, server, serving):
    other = {"POSTERN_HTTP_APP_ID": "other"}
    serving.start()
    until(lambda: place.health == 200, "it to serve", 60)
    assert serving.stop(30) == 0
    done = run(place.authority("serve"), timeout=60, env=other)
    assert done.returncode == 78, done.stderr
    assert 'http.app_id is "other" here and "postern" in the store' in done.stderr
    assert "--accept-settings" in done.stderr
    changed = Program("changed", place.authority("serve", "--accept-settings"), place.folder, other)
    try:
        changed.start()
        until(lambda: place.health == 200, "the changed one", 60)
        assert changed.stop(30) == 0
    finally:
        changed.close()
    done = run(place.authority("serve"), timeout=60)
    assert done.returncode == 78 and '"other" in the store' in done.stderr
