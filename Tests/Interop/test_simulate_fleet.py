"""`postern simulate` as a fleet that lives in time, with everything that can go wrong."""

import json
import signal
import subprocess
import time

import pytest

from authority_fixtures import bench  # noqa: F401, a fixture
from bench.open_house import OpenHouse
from bench.program import Program, run
from bench.waiting import until

pytestmark = pytest.mark.slow

FAULTS = "lost-replies=10%,replays=20%,storm=6s:50%,skew=10%,thieves=6"


@pytest.fixture(scope="module")
def open_house(tmp_path_factory, evidence, programs):
    """Its broker is another's, who lets everybody do everything."""
    folder = tmp_path_factory.mktemp("fleet")
    house = OpenHouse(folder, evidence, programs)
    yield house
    house.close()


def broker_of(house) -> str:
    return f"mqtt://127.0.0.1:{house.foreign.port}"


def fleet(house, *arguments, timeout: float = 600) -> subprocess.CompletedProcess:
    return house.cli("simulate", *arguments, "--json", timeout=timeout)


def told(done: subprocess.CompletedProcess, status: int = 0) -> dict:
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_boards_with_all_faults(open_house):
    said = told(fleet(
        open_house, "--boards", "120", "--broker", broker_of(open_house), "--duration", "20s",
        "--heartbeat", "4s", "--refresh", "5s", "--spread", "2s", "--telemetry", "60/s",
        "--check", "--faults", FAULTS))
    assert said["violations"] == []
    assert said["boards"]["paired"] == 120
    # Each injected theft is found, and nobody else is revoked.
    assert said["thefts"] == {"injected": 6, "right": 6, "wrong": 0, "open": 0}
    assert said["thievesTold"] == 6
    assert said["boards"]["over"] == 6 and said["boards"]["alive"] == 114
    assert said["lostReplies"]["right"] > 0 and said["lostReplies"]["wrong"] == 0
    assert said["replays"]["right"] > 0 and said["replays"]["wrong"] == 0
    assert said["clocks"]["injected"] > 0
    assert said["clocks"]["right"] == said["clocks"]["injected"]
    assert said["reconnects"]["storms"] >= 2 and said["reconnects"]["cut"] > 0
    sent = said["telemetry"]
    assert sent["checked"] and sent["acknowledged"] > 400
    assert sent["missing"] == 0 and sent["malformed"] == 0
    assert sent["seen"] >= sent["acknowledged"] - sent["notJudged"]
    assert said["heartbeats"]["p99Ms"] > 0 and said["refreshes"]["answered"] > 100
    events = open_house.cli_json("audit", "--limit", "1000")
    reused = {e["sessionId"] for e in events
              if "reuse" in e["event"] or "reuse" in json.dumps(e.get("detail", ""))}
    assert len(reused) == 6, {e["event"] for e in events}


def test_boards_with_logins_of_their_own_and_thieves(bench):  # noqa: F811
    said = told(fleet(
        bench, "--boards", "50", "--duration", "12s", "--heartbeat", "4s", "--refresh", "4s",
        "--spread", "2s", "--telemetry", "0.5/s/board", "--check",
        "--faults", "lost-replies=10%,storm=5s,skew=10%,thieves=3,replays=10%"))
    assert said["violations"] == []
    assert said["connections"] == 50 and said["boards"]["notConnected"] == 0
    assert said["thefts"]["right"] == said["thefts"]["injected"] == 3
    assert said["boards"]["alive"] == 47
    assert said["telemetry"]["missing"] == 0 and said["telemetry"]["seen"] > 100
    assert said["reconnects"]["made"] >= 50


def test_a_broker_that_is_killed_is_told_by_layer_and_got_over(open_house):
    house = open_house
    argv = house._cli("simulate", "--boards", "50", "--broker", broker_of(house), "--duration",
                      "16s", "--heartbeat", "3s", "--refresh", "6s", "--spread", "2s",
                      "--telemetry", "25/s", "--check", "--json")
    program = Program("simulate-kill", argv, house.folder, house._environment).start()
    try:
        until(lambda: "50 of 50 boards hold" in program.log, "the boards to be paired", 300)
        time.sleep(3)
        house.foreign.program.kill()
        time.sleep(1)
        house.foreign.start()
        until(lambda: not program.is_running, "the simulation to end", 300)
        status = program.process.poll()
    finally:
        program.close()
    said = json.loads(program.out.read_text())
    assert status == 0, program.log
    assert "TCP" in {error["layer"] for error in said["errors"]}, said["errors"]
    assert said["violations"] == [] and said["boards"]["alive"] == 50
    assert said["boards"]["notConnected"] == 0
    assert said["reconnects"]["ended"] >= 50 and said["telemetry"]["missing"] == 0


def test_too_few_descriptors_are_said_plainly(open_house):
    argv = ["prlimit", "--nofile=300:300", *open_house._cli(
        "simulate", "--boards", "200", "--broker", broker_of(open_house))]
    done = run(argv, env=open_house._environment)
    assert done.returncode == 78 and "300 files and needs 400" in done.stderr, done.stderr


def test_a_connection_of_many_takes_one_descriptor(open_house):
    # 200 sockets and what the program has anyhow; with libmosquitto's pairs they would be 600.
    argv = ["prlimit", "--nofile=400:400", *open_house._cli(
        "simulate", "--boards", "200", "--broker", broker_of(open_house), "--duration", "2s",
        "--json")]
    said = told(run(argv, timeout=600, env=open_house._environment))
    assert said["boards"]["paired"] == 200
    # 200 heartbeats at once on a busy machine may be put off (155), which is no want of files.
    assert {error["layer"] for error in said["errors"]} <= {"session"}, said["errors"]


def test_an_interrupt_ends_it_with_the_summary(open_house):
    argv = open_house._cli("simulate", "--boards", "10", "--broker", broker_of(open_house),
                           "--duration", "10m", "--heartbeat", "1s", "--json")
    program = Program("simulate-end", argv, open_house.folder, open_house._environment).start()
    try:
        until(lambda: "10 of 10 boards hold" in program.log, "the boards to be paired", 300)
        time.sleep(2)
        program.process.send_signal(signal.SIGINT)
        until(lambda: not program.is_running, "the simulation to end", 120)
        status = program.process.poll()
    finally:
        program.close()
    said = json.loads(program.out.read_text())
    assert status == 0 and said["heartbeats"]["answered"] > 5, program.log
