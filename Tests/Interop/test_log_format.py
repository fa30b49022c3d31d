"""Logs on request as JSON: each line that a program writes to stderr is one object."""

import json
import re

import pytest

from agent_fixtures import make_bench  # noqa: F401, fixture
from bench.program import run
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house  # noqa: F401, fixture

LEVELS = {"trace", "debug", "info", "notice", "warning", "error", "critical"}


@pytest.fixture(scope="module")
def house_settings() -> str:
    return ""


def entries(log: str) -> list[dict]:
    """Each line of a log, parsed; all are strings, and these four are always there."""
    read = [json.loads(line) for line in log.splitlines()]
    for entry in read:
        assert entry.keys() >= {"time", "level", "program", "message"}
        assert all(isinstance(value, str) for value in entry.values())
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["time"])
        assert entry["level"] in LEVELS
    return read


def test_every_line_of_the_agent_is_an_object(make_bench):
    bench = make_bench(agent_env={"POSTERN_LOG_FORMAT": "json"})
    board = bench.live()
    bench.app().write("Reading", b"1")
    bench.wait_data(board, b"1")
    bench.agent.stop()
    read = entries(bench.agent.log)
    assert {e["program"] for e in read} == {"postern-agent"}
    said = [e["message"] for e in read]
    assert "ready" in said and "connected to the upstream broker" in said


def test_a_last_word_is_one_too(make_bench):
    bench = make_bench(agent_env={"POSTERN_LOG_FORMAT": "json"})
    bench.start()
    # A second agent on the same state.
    env = {"POSTERN_LOG_FORMAT": "json", "POSTERN_RUN_DIR": str(bench.folder / "other")}
    done = run([bench.binary, "--config-dir", bench.config, "run"], env=env)
    assert done.returncode != 0
    assert entries(done.stderr)[-1]["level"] == "critical"


def test_every_line_of_the_authority_is_an_object(house):
    house.server.stop()
    house.server.env |= {"POSTERN_LOG_FORMAT": "json"}
    house.start()
    house.live("cellar")
    # A line that is being written is half a line.
    house.server.stop()
    read = entries(house.server.log)
    assert {e["program"] for e in read} == {"postern-authority"}
    assert "ready" in [e["message"] for e in read]


def test_a_flood_of_faults_fills_no_disk(make_bench):
    """What comes again and again is told a few times, and counted."""
    bench = make_bench()
    bench.start()
    app = bench.app("mad")
    for n in range(300):
        app.write_silently(f"_Hidden{n}", wait=False)
    until(lambda: bench.status()["refused"] == 300, "all to be refused", 60)
    assert len(bench.agent.log.splitlines()) < 60


def test_no_secret_was_logged(evidence):
    assert_nothing_leaked(evidence)
