"""A policy that others could have written, that is gone, or that says nothing."""

import json
import os

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.program import run
from bench.waiting import until
from conftest import assert_nothing_leaked

CLOSED = 'default = "allow"\n[[rule]]\nclass = "Reading"\nallow = []\n'


def start_fails(board) -> str:
    """The stderr of an agent that must refuse its configuration."""
    done = run([board.binary, "--config-dir", board.config, "run"], timeout=60)
    assert done.returncode == 78, done.stderr
    return done.stderr


def doctor(board) -> dict[str, dict]:
    told = json.loads(board.command("doctor", "--json", ok=(0, 1, 3, 78)))
    return {check["id"]: check for check in told["checks"]}


def explain(board) -> dict:
    return json.loads(board.command(
        "policy", "explain", "thermo", "create", "Door", "--json", ok=(0, 1, 2, 3)))


@pytest.mark.parametrize("mode", [0o770, 0o757, 0o1777])
def test_folder_that_others_may_write_to_is_refused(make_bench, mode):
    board = make_bench(policy=CLOSED)
    os.chmod(board.config, mode)
    said = start_fails(board)
    assert f"{board.config}: mode" in said and "too open; chmod 0755" in said
    assert doctor(board)["file-modes"]["result"] == "failed"
    os.chmod(board.config, 0o755)
    board.live()
    assert board.app().write("Reading")["code"] == 119


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_folder_of_a_foreign_user_is_refused(make_bench):
    board = make_bench()
    os.chown(board.config, 12345, -1)
    assert "belongs to user 12345" in start_fails(board)


def test_policy_of_a_running_agent_is_not_replaced_through_an_open_folder(make_bench):
    board = make_bench(policy=CLOSED)
    board.live()
    app = board.app()
    os.chmod(board.config, 0o777)
    (board.config / "policy.toml").unlink()
    (board.config / "policy.toml").write_text('default = "allow"\n')
    os.chmod(board.config / "policy.toml", 0o640)
    until(lambda: "too open" in board.agent.log, "the log to name the folder", 60)
    assert app.write("Reading")["code"] == 119


def test_lost_policy_refuses_all_until_it_is_back(make_bench):
    board = make_bench(policy=CLOSED)
    board.live()
    app = board.app()
    assert "seq" in app.write("Door")
    board.agent.stop()
    policy = board.config / "policy.toml"
    os.rename(policy, board.config / "elsewhere")
    board.start()
    assert "policy.toml was in force and is gone" in board.agent.log
    refused = app.write("Door")
    assert (refused["code"], refused["rule"]) == (119, "policy.toml:default")
    assert "is gone" in refused["error"]
    status = board.status()
    assert status["policyLost"] and status["degraded"]
    assert "THE POLICY FILE IS GONE" in board.command("status", ok=(0, 3, 4, 5))
    assert doctor(board)["policy-in-force"]["result"] == "failed"
    assert explain(board)["decision"] == "deny"
    os.rename(board.config / "elsewhere", policy)
    until(lambda: "policyLost" not in board.status(), "the file to be read", 60)
    assert "seq" in app.write("Door")
    assert app.write("Reading")["code"] == 119


@pytest.mark.parametrize("is_running", [True, False])
def test_operator_confirms_that_no_policy_is_meant(make_bench, is_running):
    board = make_bench(policy=CLOSED)
    board.live()
    app = board.app()
    assert "remove it first" in refusal_of_accept(board)
    board.agent.stop()
    (board.config / "policy.toml").unlink()
    if is_running:
        board.start()
        assert app.write("Reading")["code"] == 119
    board.command("policy", "accept-none")
    if not is_running:
        board.start()
    assert "seq" in app.write("Reading")
    # For good.
    board.agent.stop()
    board.start()
    assert "policyLost" not in board.status()
    assert "seq" in app.write("Reading")


def refusal_of_accept(board) -> str:
    done = run([board.binary, "--config-dir", board.config, "policy", "accept-none"], timeout=60)
    assert done.returncode == 2
    return done.stderr


def test_running_agent_is_told_that_no_policy_is_meant(make_bench):
    board = make_bench(policy=CLOSED)
    board.live()
    app = board.app()
    (board.config / "policy.toml").unlink()
    until(lambda: "policy.toml is gone" in board.agent.log, "the log to say so", 60)
    assert app.write("Reading")["code"] == 119
    board.command("policy", "accept-none")
    assert "seq" in app.write("Reading")


@pytest.mark.parametrize("text, line", [
    ("# nothing is said\n", 1), ('\n[app.thermo]\nmax_bytes = "1 KiB"\n', 2),
])
def test_policy_without_a_default_or_a_rule_is_refused(make_bench, text, line):
    board = make_bench(policy=text)
    said = start_fails(board)
    assert f"policy.toml:{line}:1: neither a default nor a rule" in said


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
