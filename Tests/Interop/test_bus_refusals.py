"""A local broker that does not let the agent in is tried less and less often."""

import os

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

    def tries() -> list[int]:
        """The second of each, by the broker, which writes this line before it answers."""
        return [int(line.partition(":")[0]) for line in broker.program.log.splitlines()
                if "Sending CONNACK" in line and not line.endswith(", 0)")]

    board.agent.start()
    until(lambda: len(tries()) >= 4, "four tries", 60)
    # 1, 2 and 4 s, each shortened by up to half at random: at least so many whole seconds.
    seen = tries()
    assert seen[2] - seen[1] >= 1 and seen[3] - seen[2] >= 2, seen
    assert "broker login" in board.agent.log
    # It is let in at the next try after the broker knows the password.
    access.set_password("agent", WRONG)
    until(lambda: "ready" in board.agent.log, "the agent to be let in", 60)
    assert RIGHT not in board.agent.log and WRONG not in board.agent.log
