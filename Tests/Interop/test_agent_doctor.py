"""The real `postern-agent doctor`: on a board that is well, and with one thing broken at a time."""

import json
import os

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.program import run
from bench.waiting import until
from conftest import assert_nothing_leaked

RESULTS = {"ok", "skipped", "warning", "failed"}


def examine(bench) -> tuple[int, dict[str, dict]]:
    """Doctor's exit status, and its findings by their id."""
    done = run(bench._argv("doctor", "--json"))
    bench.evidence.texts.append(("doctor", (done.stdout + done.stderr).encode()))
    checks = json.loads(done.stdout)["checks"]
    assert all(check["result"] in RESULTS and check["found"] for check in checks)
    assert all(("next" in check) == (check["result"] in ("warning", "failed")) for check in checks)
    return done.returncode, {check["id"]: check for check in checks}


def failed(found: dict[str, dict]) -> set[str]:
    return {id for id, check in found.items() if check["result"] == "failed"}


def test_live_board_has_no_failure(bench):
    bench.live()
    status, found = examine(bench)
    # The bench's bus lets anybody in, and says so.
    assert found["local-broker"]["result"] == "warning"
    assert (failed(found), status) == (set(), 3)
    for name in ("session", "clock", "queue", "uplink", "policy-in-force", "agent-running"):
        assert found[name]["result"] == "ok", found[name]


def test_lists_its_checks_without_running_them(bench):
    text = bench.command("doctor", "--list")
    listed = json.loads(bench.command("doctor", "--list", "--json"))["checks"]
    _, found = examine(bench)
    assert [check["id"] for check in listed] == list(found)
    assert all(check["id"] in text and check["about"] in text for check in listed)


def test_bus_with_logins_is_well_and_a_wrong_password_is_not(make_bench, tmp_path):
    password = tmp_path / "password"
    password.write_text("a-password-of-the-bus\n")
    os.chmod(password, 0o640)
    bench = make_bench()
    bench.evidence.add_secret("the bus password", "a-password-of-the-bus")
    from bench.broker import AccessFiles, Broker

    access = AccessFiles(tmp_path / "guarded")
    access.admit("agent", "a-password-of-the-bus", ["readwrite #"])
    guarded = Broker("guarded", tmp_path / "guarded", *access.settings).start()
    try:
        agent = bench.config / "agent.toml"
        agent.write_text(agent.read_text().replace(
            f'uri = "mqtt://127.0.0.1:{bench.bus.port}"',
            f'uri = "mqtt://127.0.0.1:{guarded.port}"\nusername = "agent"\n'
            f'password_file = "{password}"', 1))
        assert examine(bench)[1]["local-broker"]["result"] == "ok"
        password.write_text("another\n")
        found = examine(bench)[1]["local-broker"]
        assert found["result"] == "failed" and "login" in found["found"]
        os.chmod(password, 0o644)
        assert "file-modes" in failed(examine(bench)[1])
    finally:
        guarded.close()


def test_broken_parts_are_named(bench):
    bench.live()
    bench.broker.stop()
    until(lambda: bench.status()["uplink"] != "connected", "the uplink to be lost")
    status, found = examine(bench)
    assert (failed(found), status) == ({"uplink"}, 1)
    bench.bus.stop()
    assert failed(examine(bench)[1]) == {"uplink", "local-broker"}
    bench.agent.stop()
    status, found = examine(bench)
    assert failed(found) == {"agent-running", "local-broker"}
    # The state folder still says who this board is.
    assert found["session"]["result"] == "ok"
    os.chmod(bench.config / "agent.toml", 0o666)
    status, found = examine(bench)
    assert "file-modes" in failed(found) and status == 78


def test_words_for_people(bench):
    bench.live()
    done = run(bench._argv("doctor"))
    assert done.returncode == 3
    assert "✓ session" in done.stdout and "! local-broker" in done.stdout
    assert "next: " in done.stdout


def test_no_secret_was_told(evidence):
    assert_nothing_leaked(evidence)
