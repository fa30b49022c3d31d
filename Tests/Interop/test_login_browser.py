"""`postern login` by a browser: the real command line, the real authority, and a person's visit of
the page."""

import json
import os
import pty
import sqlite3
import stat

import pytest

from bench.authority_bench import ADMIN
from bench.program import Program, run
from bench.visit import Visit
from bench.waiting import until
from test_passkeys import NamedBench, added, answer, enter, events, logged_in
from test_passkeys import person  # noqa: F401, fixture

POSTERN = "postern on "


@pytest.fixture(scope="module")
def bench(tmp_path_factory, evidence, programs):
    bench = NamedBench(tmp_path_factory.mktemp("browser"), evidence, programs)
    yield bench
    bench.close()


class Login:
    """A `postern login` that runs, with a folder of its own for what it keeps."""

    number = 0

    def __init__(self, bench, *arguments, env: dict | None = None):
        Login.number += 1
        self.bench = bench
        self.folder = bench.folder / f"login-{Login.number}"
        self.argv = [bench.programs / "postern", "--profile-dir", self.folder]
        url = f"http://127.0.0.1:{bench.http_port}"
        self.program = Program(
            f"login-{Login.number}", [*self.argv, "login", url, "--json", *arguments],
            bench.folder, bench._environment | (env or {})).start()

    def code(self) -> str:
        """The code that it shows."""
        until(lambda: "Waiting for" in self.program.log or not self.program.is_running,
              "a code", 60, lambda: self.program.log)
        lines = [line.strip() for line in self.program.log.splitlines()]
        code = lines[lines.index(next(line for line in lines if line.startswith("Compare"))) + 1]
        page = f"http://localhost:{self.bench.http_port}/#/login/{code}"
        assert page in lines, self.program.log
        return code

    def end(self) -> int:
        until(lambda: not self.program.is_running, "`postern login` to end", 90,
              lambda: self.program.log)
        return self.program.process.returncode

    def cli(self, *arguments) -> str:
        done = run([*self.argv, *arguments], env=self.bench._environment)
        assert done.returncode == 0, done.stderr
        return done.stdout


def test_a_person_allows_it_at_the_page(bench):
    login = Login(bench, "--browser")
    code = login.code()
    visit = logged_in(bench)
    told = visit.must("POST", "/console/login-requests", {"userCode": code.lower()})
    assert told["program"].startswith(POSTERN)
    assert (told["userCode"], told["address"], told["isFromHere"]) == (code, "127.0.0.1", False)
    assert told["endsAt"] - told["createdAt"] == 600
    visit.must("POST", "/console/login-requests/answer", {"userCode": code, "allow": True})
    assert login.end() == 0, login.program.log
    assert json.loads(login.program.out.read_text())["username"] == ADMIN
    assert f"as {ADMIN}" in login.program.log

    # It is a login as any other, with the program's name.
    assert ADMIN in login.cli("whoami")
    own = [s for s in json.loads(login.cli("sessions", "list", "--json"))
           if s["createdWith"] == {"action": "login", "authProvider": "browser"}]
    assert [s["custom"]["name"] for s in own] == [told["program"]]
    assert not own[0]["restricted"]
    assert told["program"] in login.cli("sessions", "list")
    refused = visit.refusal("POST", "/console/login-requests", {"userCode": code})
    assert refused["code"] == 101
    visit.must("POST", "/console/logout")
    login.cli("logout")
    assert "login.allowed" in events(bench, ADMIN)


def test_a_person_denies_it_at_the_page(bench):
    login = Login(bench)
    code = login.code()
    visit = logged_in(bench)
    visit.must("POST", "/console/login-requests/answer", {"userCode": code, "allow": False})
    visit.must("POST", "/console/logout")
    assert login.end() == 77
    assert "denied" in login.program.log
    assert not (login.folder / "profile.json").exists()
    assert "login.denied" in events(bench, ADMIN)


def test_nobody_allows_it_in_time(bench):
    """Ten minutes are longer than a test can wait for. The command outlives a restart."""
    login = Login(bench)
    code = login.code()
    bench.server.stop()
    with sqlite3.connect(bench.folder / "state" / "authority.db") as database:
        database.execute("UPDATE login_requests SET ends_at = ends_at - 600000")
    database.close()
    bench.start()
    assert login.end() == 5
    assert "nobody allowed it in time" in login.program.log
    visit = logged_in(bench)
    refused = visit.refusal("POST", "/console/login-requests", {"userCode": code})
    assert refused["code"] == 101
    visit.must("POST", "/console/logout")


def ask(visit: Visit) -> dict:
    return visit.must("POST", "/login/requests", {"program": "a test"})


def test_the_answers_of_a_request_are_as_described(bench):
    visit = Visit(bench.http_port)
    told = ask(visit)
    bench.evidence.add_secret("a device code", told["deviceCode"])
    assert len(told["deviceCode"]) == 43
    page = f"http://localhost:{bench.http_port}/#/login"
    assert told["verificationUri"] == page
    assert told["verificationUriComplete"] == f"{page}/{told['userCode']}"
    assert (told["expiresIn"], told["interval"]) == (600, 5)
    use = {"deviceCode": told["deviceCode"]}
    assert visit.refusal("POST", "/login/requests/session", use)["name"] == "authorization-pending"
    until(lambda: visit.refusal("POST", "/login/requests/session", use)["name"] == "slow-down",
          "a question within five seconds of another")
    unknown = {"deviceCode": "A" * 43}
    assert visit.refusal("POST", "/login/requests/session", unknown)["name"] == "expired-token"
    for spoilt in ({}, {"deviceCode": told["userCode"]}, {"deviceCode": 1}):
        assert visit.refusal("POST", "/login/requests/session", spoilt)["code"] in (111, 142)
    for spoilt in ({}, {"program": ""}, {"program": "a\nb"}, {"program": "x" * 65}):
        assert visit.refusal("POST", "/login/requests", spoilt)["code"] in (111, 142)
    # Nobody looks a code up who is not logged in.
    search = {"userCode": told["userCode"]}
    assert visit.refusal("POST", "/console/login-requests", search)["code"] == 209
    answer_ = search | {"allow": True}
    assert visit.refusal("POST", "/console/login-requests/answer", answer_)["code"] == 209


def test_an_address_makes_ten_requests(bench):
    visit = Visit(bench.http_port)
    for _ in range(10):
        ask(visit)
    status, told = visit.ask("POST", "/login/requests", {"program": "a test"})
    assert (status, told["code"]) == (429, 155)
    ask(Visit(bench.http_port))


def test_wrong_codes_are_limited(bench, person):
    visit = logged_in(bench, *person)
    code = ask(Visit(bench.http_port))["userCode"]
    wrong = "BBBB-BBBB" if code != "BBBB-BBBB" else "CCCC-CCCC"
    for _ in range(10):
        refused = visit.refusal("POST", "/console/login-requests", {"userCode": wrong})
        assert refused["code"] == 101
    refused = visit.refusal("POST", "/console/login-requests", {"userCode": code})
    assert refused["code"] == 155
    assert events(bench, person[0]).count("login.code-wrong") == 10


def test_what_excludes_itself_is_wrong_usage(bench):
    for arguments in (["--browser", "--username", ADMIN], ["--password-file", "-"]):
        login = Login(bench, *arguments)
        assert login.end() == 2, login.program.log


def test_a_browser_is_opened_only_with_a_display_and_a_terminal(bench):
    """Without the code, which is for nobody who lists processes."""
    folder = bench.folder / "bin"
    folder.mkdir()
    opened = bench.folder / "opened"
    program = folder / "xdg-open"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" > {opened}.new\nmv {opened}.new {opened}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    env = {"DISPLAY": ":7", "PATH": f"{folder}:{os.environ['PATH']}"}
    login = Login(bench, env=env)
    login.code()
    assert "A browser opens" not in login.program.log
    login.program.close()

    pid, terminal = pty.fork()
    if pid == 0:
        url = f"http://127.0.0.1:{bench.http_port}"
        os.execve(login.argv[0], [str(part) for part in [*login.argv, "login", url]],
                  bench._environment | env)
    try:
        until(opened.exists, "a browser to be opened", 60)
        page = f"http://localhost:{bench.http_port}/#/login\n"
        assert opened.read_text() == page
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


def test_without_passwords_a_browser_is_the_way(tmp_path, evidence, programs):
    folder = tmp_path / "closed"
    folder.mkdir()
    closed = NamedBench(folder, evidence, programs)
    try:
        log_in_without_passwords(closed)
    finally:
        closed.close()


def log_in_without_passwords(closed: NamedBench) -> None:
    passkey, _ = added(logged_in(closed))
    closed.server.stop()
    file = closed.config / "authority.toml"
    file.write_text(file.read_text() + "[login]\npasswords = false\n")
    closed.start()
    by_password = Login(closed, "--username", ADMIN, "--password-file", closed.password_file)
    assert by_password.end() == 2
    assert "without --username" in by_password.program.log

    login = Login(closed)
    code = login.code()
    visit, status, _ = enter(closed, passkey)
    assert status == 200
    # It outlives a restart of the authority.
    closed.server.stop()
    closed.start()
    visit.must("POST", "/console/login-requests", {"userCode": code})
    visit.must("POST", "/console/login-requests/answer", {"userCode": code, "allow": True})
    assert login.end() == 0, login.program.log
    assert ADMIN in login.cli("whoami")
    # The program's session confirms nothing: a passkey of the page's person does.
    response = answer(passkey, visit.options("confirm"), visit.origin)
    visit.must("POST", "/console/confirm", {"passkey": response})


def test_no_secret_is_in_a_log(bench, evidence):
    assert evidence.search() == []
