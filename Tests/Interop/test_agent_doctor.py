"""The real `postern-agent doctor`: on a board that is well, and with one thing broken at a time."""

import json
import os
import secrets
from contextlib import contextmanager

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench import doctor_page
from bench.broker import AccessFiles, Broker
from bench.certificates import Authority
from bench.program import free_port, run
from bench.waiting import until
from conftest import assert_nothing_leaked

RESULTS = {"ok", "note", "skipped", "warning", "failed"}


def examine(bench, *options: str) -> tuple[int, dict[str, dict]]:
    """Doctor's exit status, and its findings by their id."""
    done = run(bench._argv("doctor", "--json", *options), timeout=60)
    bench.evidence.texts.append(("doctor", (done.stdout + done.stderr).encode()))
    checks = json.loads(done.stdout)["checks"]
    assert all(check["result"] in RESULTS and check["found"] for check in checks)
    assert all(("next" in check) == (check["result"] in ("warning", "failed")) for check in checks)
    return done.returncode, {check["id"]: check for check in checks}


def failed(found: dict[str, dict]) -> set[str]:
    return {id for id, check in found.items() if check["result"] == "failed"}


def examined(bench, is_right, *options: str) -> dict[str, dict]:
    """The findings once they are right: doctor waits a few seconds for each part, no longer."""
    last: list = []

    def told():
        last[:] = examine(bench, *options)
        return is_right(*last)

    until(told, "doctor to find what is right", 60, lambda: str(last))
    return last[1]


def test_live_board_has_no_failure(bench):
    bench.live()
    well = ("session", "clock", "queue", "uplink", "policy-in-force", "agent-running")
    # The bench's bus lets anybody in, and says so.
    examined(bench, lambda status, found: (failed(found), status) == (set(), 3)
             and found["local-broker"]["result"] == "warning"
             and {found[name]["result"] for name in well} == {"ok"})


def test_lists_its_checks_without_running_them(bench):
    text = bench.command("doctor", "--list")
    listed = json.loads(bench.command("doctor", "--list", "--json"))["checks"]
    _, found = examine(bench)
    assert [check["id"] for check in listed] == list(found)
    assert all(check["why"] in text for check in listed)
    assert [check["id"] for check in listed] == doctor_page.ids("postern-agent")
    assert all(check["id"] in text and check["about"] in text for check in listed)


def test_bus_with_logins_is_well_and_a_wrong_password_is_not(make_bench, tmp_path):
    password = tmp_path / "password"
    password.write_text("a-password-of-the-bus\n")
    os.chmod(password, 0o640)
    bench = make_bench()
    bench.evidence.add_secret("the bus password", "a-password-of-the-bus")
    access = AccessFiles(tmp_path / "guarded")
    access.admit("agent", "a-password-of-the-bus", ["readwrite #"])
    guarded = Broker("guarded", tmp_path / "guarded", *access.settings).start()
    try:
        agent = bench.config / "agent.toml"
        agent.write_text(agent.read_text().replace(
            f'uri = "mqtt://127.0.0.1:{bench.bus.port}"',
            f'uri = "mqtt://127.0.0.1:{guarded.port}"\nusername = "agent"\n'
            f'password_file = "{password}"', 1))
        examined(bench, lambda _, found: found["local-broker"]["result"] == "ok")
        password.write_text("another\n")
        examined(bench, lambda _, found: found["local-broker"]["result"] == "failed"
                 and "login" in found["local-broker"]["found"])
        os.chmod(password, 0o644)
        assert "file-modes" in failed(examine(bench)[1])
    finally:
        guarded.close()


def unwell(found: dict[str, dict]) -> set[str]:
    return {id for id, check in found.items() if check["result"] in ("warning", "failed")}


class Breaks:
    """One thing broken at a time, and mended; each must be seen by its check and by no other."""

    def __init__(self, bench):
        self.bench = bench
        found = examine(bench)[1]
        self.unwell = unwell(found)
        self.results = {id: check["result"] for id, check in found.items()}

    def see(self, *ids: str) -> dict[str, dict]:
        def worse(found: dict[str, dict]) -> set[str]:
            return {id for id in unwell(found)
                    if id not in self.unwell or found[id]["result"] != self.results[id]}

        return examined(self.bench, lambda _, found: worse(found) == set(ids))

    @contextmanager
    def changed(self, path, text: str, mode: int = 0o640):
        before = path.read_bytes() if path.exists() else None
        path.write_text(text)
        os.chmod(path, mode)
        yield
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)
            os.chmod(path, 0o640 if path.suffix == ".toml" else 0o600)


def test_running_agent_tells_what_is_broken(make_bench):
    bench = make_bench()
    bench.authority.offline = 1800
    board = bench.live()
    # A high-security session: an outage longer than half an hour needs a person.
    assert "30 minutes" in examine(bench)[1]["session-outlasts"]["found"]
    breaks = Breaks(bench)
    assert "session-outlasts" in breaks.unwell
    bench.stop_broker()
    until(lambda: bench.status()["uplink"] != "connected", "the uplink to be lost")
    assert breaks.see("tcp")["uplink"]["result"] == "skipped"
    bench.resume_broker(board.iid)
    until(lambda: bench.status()["uplink"] == "connected", "the uplink to be back", 60)
    breaks.see()
    password = secrets.token_urlsafe(24)
    entry = bench.access.withhold(board.iid)
    bench.access.admit(board.iid, password, entry[1])
    bench.stop_broker()
    bench.broker.start()
    until(lambda: "broker login" in bench.status()["uplink"], "the login to be refused", 60)
    assert breaks.see("broker-login")["topics-allowed"]["result"] == "skipped"


def test_refused_data_is_of_the_topics_allowed(make_bench):
    bench = make_bench()
    board = bench.live()
    breaks = Breaks(bench)
    kept = [f"readwrite postern/v1/{board.iid}/{end}" for end in ("outbox", "inbox", "status")]
    bench.access.set_rules(board.iid, kept)
    bench.app().write("Reading", b"1")
    until(lambda: bench.status().get("hold"), "the writes to be held", 60)
    assert "held" in breaks.see("topics-allowed")["topics-allowed"]["found"]


def test_ended_session_is_seen(make_bench):
    bench = make_bench()
    board = bench.live()
    breaks = Breaks(bench)
    bench.authority.revoke(board)
    bench.wait_session("unavailable")
    breaks.see("session")


def test_agent_that_is_down_has_each_part_tried(make_bench):
    bench = make_bench()
    board = bench.live()
    breaks = Breaks(bench)
    bench.agent.stop()
    found = breaks.see("agent-running")
    assert found["broker-login"]["result"] == "ok", found["broker-login"]
    assert found["topics-allowed"]["result"] == "ok"
    # The board's last will was not said for it, nor anything else.
    breaks = Breaks(bench)
    agent = bench.config / "agent.toml"
    text = agent.read_text()
    upstream = f"mqtt://127.0.0.1:{bench.port}"
    assert upstream in text
    with breaks.changed(agent, text.replace(upstream, "mqtts://nobody.invalid")):
        breaks.see("name-lookup")
    with breaks.changed(agent, text.replace(upstream, f"mqtt://127.0.0.1:{free_port()}")):
        breaks.see("tcp")
    with breaks.changed(agent, text.replace(upstream, f"mqtts://localhost:{bench.port}")):
        breaks.see("tls")
    with breaks.changed(agent, "nonsense = 1\n" + text):
        found = breaks.see("config-agent")
    with breaks.changed(bench.config / "policy.toml", "default = 1\n"):
        breaks.see("config-policy")
    with breaks.changed(bench.config / "policy.toml", 'default = "deny"\n', 0o646):
        breaks.see("file-modes")
    key = bench.folder / "state" / "storage.key"
    whole = key.read_bytes()
    key.write_bytes(bytes(len(whole)))
    breaks.see("vault")
    key.write_bytes(whole)
    bench.access.set_password(board.iid, secrets.token_urlsafe(24))
    breaks.see("broker-login")
    bench.bus.stop()
    breaks.see("broker-login", "local-broker")


TLS = {
    "good": ("localhost", 60, True, "ok", "days left"),
    "soon over": ("localhost", 5, True, "warning", " days left"),
    "expired": ("localhost", -1, True, "failed", "expired"),
    "another's name": ("b.example", 60, True, "failed", "ostname mismatch"),
    "another's CA": ("localhost", 60, False, "failed", "certificate"),
}


@pytest.mark.parametrize("name", TLS)
def test_certificate_of_the_broker_is_judged(make_bench, tmp_path, name):
    host, days, is_known, result, words = TLS[name]
    known, unknown = Authority(tmp_path / "ca", "known"), Authority(tmp_path / "ca", "other")
    certificate, key = known.issue("broker", host, begins=-9, ends=days)
    broker = Broker("tls", tmp_path / "tls", f"certfile {certificate}", f"keyfile {key}",
                    "allow_anonymous true").start()
    try:
        bench = make_bench()
        agent = bench.config / "agent.toml"
        ca = known.file if is_known else unknown.file
        agent.write_text(agent.read_text().replace(
            f"mqtt://127.0.0.1:{bench.port}\"", f"mqtts://localhost:{broker.port}\"\n"
            f'ca_file = "{ca}"'))
        others = {"agent-running", "local-broker", "bus-acl"}
        examined(bench, lambda _, found: found["tls"]["result"] == result
                 and words in found["tls"]["found"]
                 and unwell(found) - others == ({"tls"} if result != "ok" else set()))
        # Nothing was made: a board without a state has none after doctor, either.
        assert list((bench.folder / "state").iterdir()) == []
    finally:
        broker.close()


def test_bus_that_refuses_the_agent_its_topics(make_bench, tmp_path):
    bench = make_bench()
    password = tmp_path / "password"
    password.write_text("another-one-of-the-bus\n")
    os.chmod(password, 0o640)
    access = AccessFiles(tmp_path / "guarded")
    access.admit("agent", "another-one-of-the-bus", ["readwrite #"])
    guarded = Broker("guarded", tmp_path / "guarded", *access.settings).start()
    access.broker = guarded
    try:
        agent = bench.config / "agent.toml"
        agent.write_text(agent.read_text().replace(
            f'uri = "mqtt://127.0.0.1:{bench.bus.port}"',
            f'uri = "mqtt://127.0.0.1:{guarded.port}"\nusername = "agent"\n'
            f'password_file = "{password}"', 1))
        breaks = Breaks(bench)
        access.set_rules("agent", ["read #"])
        assert "write postern/#" in breaks.see("bus-acl")["bus-acl"]["found"]
    finally:
        guarded.close()


def test_checks_can_be_left_out_and_warnings_count(bench):
    bench.live()
    left_out = ("local-broker", "bus-acl")
    options = [option for id in left_out for option in ("--dont-run", id)]
    log = bench.bus.program.log
    found = examined(
        bench, lambda status, found: (status, unwell(found)) == (0, set()), *options)
    assert not set(left_out) & set(found) and "uplink" in found
    # Nobody knocked at the bus for a check that is left out.
    assert "postern-doctor" not in bench.bus.program.log.removeprefix(log)
    for arguments, status in (((*options, "--warnings-as-errors"), 0), ((), 3),
                              (("--warnings-as-errors",), 1)):
        examined(bench, lambda told, _: told == status, *arguments)
    refused = run(bench._argv("doctor", "--dont-run", "local-broke"))
    assert refused.returncode == 2 and '"local-broker"' in refused.stderr


def test_words_for_people(bench):
    bench.live()
    done = until(lambda: (done := run(bench._argv("doctor"))).returncode == 3 and done, "doctor")
    assert "✓ session" in done.stdout and "! local-broker" in done.stdout
    assert "next: " in done.stdout


def test_no_secret_was_told(evidence):
    assert_nothing_leaked(evidence)
