"""Two agents on one copied state folder: each is named, and they do not alternate without end."""

import os
import shutil

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.program import Program
from bench.telling_proxy import TellingProxy
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house  # noqa: F401, fixture
from test_agent_doctor import examine


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def house_settings() -> str:
    return 'heartbeat = "2s"\n'


def point(bench, old: int, new: int) -> None:
    agent = bench.config / "agent.toml"
    agent.write_text(agent.read_text().replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}"))


class Copy:
    """A second machine: the board's state and configuration, with its own folders."""

    def __init__(self, bench, bus: int | None = None):
        self.folder = bench.folder / "copy"
        shutil.copytree(bench.folder / "state", self.folder / "state")
        self.config = self.folder / "etc"
        shutil.copytree(bench.config, self.config)
        os.chmod(self.folder / "state", 0o700)
        (self.folder / "run").mkdir(mode=0o755)
        agent = self.config / "agent.toml"
        text = agent.read_text().replace(
            f'"{bench.folder}/', f'"{self.folder}/')
        if bus is not None:
            text = text.replace(f"127.0.0.1:{bench.bus.port}", f"127.0.0.1:{bus}")
        agent.write_text(text)
        self.program = Program(
            "copy", [bench.binary, "--config-dir", self.config, "run"], self.folder)


def test_two_agents_on_one_bus_back_off_and_say_so(make_bench):
    bench = make_bench()
    bench.live()
    bench.agent.stop()
    proxy = TellingProxy(bench.bus.port)
    point(bench, bench.bus.port, proxy.port)
    copy = Copy(bench)
    bench.start()
    copy.program.start()
    try:
        words = "another agent with this board's identity"
        until(lambda: words in bench.agent.log, "the agent to say so", 60)
        until(lambda: words in copy.program.log, "the copy to say so", 60)
        until(lambda: bench.status().get("busShared"), "the status to say so", 60)
        found = examine(bench)[1]["identity"]
        assert found["result"] == "failed" and "pair --new" in found["next"]
        # Once a second at first, then slower: said once, not at each turn.
        assert bench.agent.log.count(words) == 1
    finally:
        copy.program.close()
        bench.agent.stop()
        proxy.close()


def test_two_machines_are_named_upstream(make_bench):
    bench = make_bench()
    bench.live()
    bench.agent.stop()
    proxy = TellingProxy(bench.port)
    agent = bench.config / "agent.toml"
    uri = f'uri = "mqtt://127.0.0.1:{bench.port}"'
    agent.write_text(agent.read_text().replace(uri, uri + '\nspread = "0s"'))
    point(bench, bench.port, proxy.port)
    # The other machine has no bus: only the upstream broker knows both.
    copy = Copy(bench, bus=9)
    bench.start()
    copy.program.start()
    try:
        words = "another machine uses this board's identity"
        until(lambda: words in bench.agent.log + copy.program.log, "one of them to say so", 120)
        until(lambda: bench.status()["identityShared"], "the agent to know", 120)
        until(lambda: words in bench.status()["uplink"], "the uplink to say so", 120)
        assert examine(bench)[1]["identity"]["result"] == "failed"
    finally:
        copy.program.close()
        bench.agent.stop()
        proxy.close()


def test_two_machines_are_named_by_the_authority(house):
    """Whatever the broker says: Debian 12's mosquitto ends a connection without a word."""
    board = house.live("twin")
    board.agent.stop()
    # Its bus is not there; only the authority hears both.
    copy = Copy(board, bus=9)
    board.start()
    copy.program.start()
    try:
        words = "another machine uses this board's identity"
        until(lambda: words in board.agent.log, "the agent to say so", 120)
        assert house.events("identity.shared", board.session_id)
        assert examine(board)[1]["identity"]["result"] == "failed"
    finally:
        copy.program.close()


def test_no_secret_was_told(evidence):
    assert_nothing_leaked(evidence)
