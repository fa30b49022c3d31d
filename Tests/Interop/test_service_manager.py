"""The agent and the authority under a service manager: a sign of life means progress."""

import time

import pytest

from agent_fixtures import make_bench  # noqa: F401, fixture
from bench.program import run
from bench.service_manager import BrokenDisk, ServiceManager, stop_still
from bench.waiting import until
from house_fixtures import house, house_settings  # noqa: F401, fixtures
from conftest import assert_nothing_leaked
from postern_contract import topics

pytestmark = pytest.mark.slow

# Longer than a busy machine lets a program stand still.
WATCHDOG = 8.0


@pytest.fixture
def manager():
    made = ServiceManager(WATCHDOG)
    yield made
    made.close()


def test_an_idle_agent_lives_through_three_intervals(make_bench, manager):
    bench = make_bench(agent_env=manager.environment)
    manager.look_after(bench.agent)
    bench.live()
    first = bench.agent.pid
    begun = time.monotonic()
    until(lambda: time.monotonic() > begun + 3 * WATCHDOG, "three intervals", 4 * WATCHDOG)
    assert not manager.aborted and manager.restarts == 0 and bench.agent.pid == first
    beats = [at for at in manager.times("WATCHDOG") if at > begun]
    gaps = [b - a for a, b in zip(beats, beats[1:])]
    assert gaps and max(gaps) < WATCHDOG
    # Idle means idle: one word of life in half an interval, and no more.
    assert len(beats) <= 3 * 2 + 2


def test_a_loop_that_stands_still_is_ended_and_nothing_acknowledged_is_lost(
    make_bench, manager, tmp_path
):
    disk = BrokenDisk(tmp_path)
    bench = make_bench(agent_env=manager.environment | disk.environment)
    manager.look_after(bench.agent)
    board = bench.live()
    app = bench.app()
    promised = [b'{"celsius":%d}' % n for n in range(20)]
    sequences = [app.write("Reading", p)["seq"] for p in promised]
    stood = time.monotonic()
    disk.hang.touch()
    late = b'{"celsius":99}'
    correlation = app.send(topics.app(app.name, "create", "Reading"), late)
    until(lambda: manager.aborted, "the manager to lose patience", 4 * WATCHDOG)
    # It said nothing more while it stood, though the process was there all the while.
    assert manager.aborted[0] - stood >= WATCHDOG / 2 - 1
    assert app.answer_to(correlation) is None, "a promise that no disk keeps"
    disk.hang.unlink()
    until(lambda: manager.restarts >= 1, "the manager to start it again", 60)
    answer = until(lambda: app.answer_to(correlation), "the write to be taken after all", 60)
    assert answer["seq"] > sequences[-1]
    for payload in [*promised, late]:
        bench.wait_data(board, payload)
    assert len(manager.aborted) == 1


def test_a_stopped_process_is_ended_and_started_anew(make_bench, manager):
    bench = make_bench(agent_env=manager.environment)
    manager.look_after(bench.agent)
    bench.live()
    first = bench.agent.pid
    stop_still(bench.agent)
    until(lambda: manager.restarts == 1, "a new process", 4 * WATCHDOG)
    assert bench.agent.pid != first
    until(lambda: len(manager.times("READY")) == 2, "it to be ready again", 60)


def test_the_status_says_session_queue_and_uplink(make_bench, manager):
    bench = make_bench(agent_env=manager.environment)
    manager.look_after(bench.agent)
    bench.start()
    manager.wait_status("session unavailable (unclaimed); 0 waiting; uplink no login yet")
    bench.agent.stop()
    board = bench.live()
    manager.wait_status("session available")
    manager.wait_status("uplink connected")
    before = len(manager.statuses)
    app = bench.app()
    begun = time.monotonic()
    for n in range(50):
        app.write("Reading", b'{"celsius":%d}' % n)
    bench.wait_data(board, b'{"celsius":49}')
    assert len(manager.statuses) - before <= time.monotonic() - begun + 10
    assert bench.agent.stop() == 0
    assert manager.times("STOPPING")
    bench.evidence.texts.append(("statuses", "\n".join(manager.statuses).encode()))


def test_a_store_that_fails_is_told_and_the_agent_still_answers(make_bench, manager, tmp_path):
    """Between two lives of the store: the watchdog is fed, and `status` is answered."""
    disk = BrokenDisk(tmp_path)
    bench = make_bench(agent_env=manager.environment | disk.environment)
    manager.look_after(bench.agent)
    bench.live()
    disk.fail.touch()
    # What is not stored cannot be claimed: this change fails, and with it the store's life.
    run(bench._argv("pair", "--new", "--json"))
    manager.wait_status("the store failed", 60)
    answers = []

    def told() -> bool:
        done = run(bench._argv("status", "--json"))
        answers.append(done.stdout + done.stderr)
        return "the store failed" in answers[-1]

    until(told, f"status to say what is the matter: {answers}", 60)
    begun = time.monotonic()
    until(lambda: time.monotonic() > begun + 2 * WATCHDOG, "two intervals", 3 * WATCHDOG)
    assert not manager.aborted and not manager.restarts
    disk.fail.unlink()
    since = len(manager.words)
    until(lambda: any("session available" in v for _, _, v in manager.words[since:]),
          "the store to be back", 60)


def test_an_authority_that_stands_still_is_ended_and_started_anew(house, manager):
    board = house.live("porch")
    house.server.stop()
    house.server.env |= manager.environment
    manager.look_after(house.server)
    house.server.start()
    until(lambda: manager.times("READY"), "the authority to be ready", 60)
    manager.wait_status("1 of 1 boards up; 1 sessions; broker connected", 60)
    begun = time.monotonic()
    until(lambda: time.monotonic() > begun + 2 * WATCHDOG, "two intervals", 3 * WATCHDOG)
    assert not manager.aborted
    stop_still(house.server)
    until(lambda: manager.restarts == 1, "a new process", 4 * WATCHDOG)
    until(lambda: len(manager.times("READY")) == 2, "it to be ready again", 60)
    until(board.is_online, "the board to be online again", 60)


def test_no_secret_was_said(evidence):
    assert_nothing_leaked(evidence)
