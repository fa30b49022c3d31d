"""A local broker that does not let the agent in is tried less and less often."""

import os
import time

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.broker import AccessFiles, Broker
from bench.waiting import until

RIGHT, WRONG = "the-password-of-the-bus", "no-password-of-the-bus"


@pytest.fixture
def guarded(make_bench, tmp_path):
    """A board whose bus asks for a password, and the access files of that bus."""
    board = make_bench()
    for secret in (RIGHT, WRONG):
        board.evidence.add_secret("a bus password", secret)
    password = tmp_path / "password"
    password.write_text(WRONG + "\n")
    os.chmod(password, 0o640)
    access = AccessFiles(tmp_path / "guarded")
    access.admit("agent", RIGHT, ["readwrite #"])
    broker = Broker("guarded", tmp_path / "guarded", *access.settings).start()
    access.broker = broker
    agent = board.config / "agent.toml"
    agent.write_text(agent.read_text().replace(
        f'uri = "mqtt://127.0.0.1:{board.bus.port}"',
        f'uri = "mqtt://127.0.0.1:{broker.port}"\nusername = "agent"\n'
        f'password_file = "{password}"', 1))
    yield board, broker, access
    broker.close()


def test_wrong_bus_password_backs_off(guarded):
    board, broker, access = guarded

    def tries() -> int:
        return broker.program.log.count("not authorised") + broker.program.log.count(
            "Not authorized")

    board.agent.start()
    seen: list[float] = []
    end = time.monotonic() + 20
    while len(seen) < 4 and time.monotonic() < end:
        if tries() > len(seen):
            seen.append(time.monotonic())
        time.sleep(0.02)
    assert len(seen) == 4, broker.program.log
    # 1, 2 and 4 s, each shortened by up to half at random; what is seen may be late by a bit.
    pauses = [later - sooner for sooner, later in zip(seen, seen[1:], strict=False)]
    assert pauses[0] > 0.4 and pauses[1] > 0.9 and pauses[2] > 1.9, pauses
    assert "broker login" in board.agent.log
    # It is let in at the next try after the broker knows the password.
    access.set_password("agent", WRONG)
    until(lambda: "ready" in board.agent.log, "the agent to be let in", 30)
    assert RIGHT not in board.agent.log and WRONG not in board.agent.log
