"""`doctor --prove` of both programs: green where rights are right, red by id for each hole."""

import json

import pytest

from agent_fixtures import bench as agent_bench  # noqa: F401, fixture
from agent_fixtures import make_bench  # noqa: F401, fixture
from authority_fixtures import bench  # noqa: F401, fixture
from bench import doctor_page
from bench.holes import HOLES, READING, BusWithLogins
from bench.program import run
from conftest import assert_nothing_leaked
from postern_contract import topics

BUS = ["prove-bus-login", "prove-bus-list", "prove-bus-apps", "prove-bus-control"]
UPSTREAM = ["prove-login", "prove-inbox", "prove-authority", "prove-control"]


def prove(bench, argv) -> tuple[int, dict[str, dict]]:
    done = run(argv("doctor", "--prove", "--json"), timeout=60)
    bench.evidence.texts.append(("doctor --prove", (done.stdout + done.stderr).encode()))
    checks = json.loads(done.stdout)["checks"]
    return done.returncode, {check["id"]: check for check in checks}


def red(found: dict[str, dict]) -> set[str]:
    return {id for id, check in found.items() if check["result"] == "failed"}


def results(found: dict[str, dict], ids: list[str]) -> list[str]:
    return [found[id]["result"] for id in ids]


def test_page_names_the_checks(make_bench):
    listed = json.loads(make_bench().command("doctor", "--prove", "--list", "--json"))["checks"]
    assert [check["id"] for check in listed] == BUS + UPSTREAM == doctor_page.proofs()


def test_bus_with_its_list_is_green(make_bench, tmp_path):
    bench = make_bench()
    bus = BusWithLogins(bench, tmp_path / "guarded")
    try:
        status, found = prove(bench, bench._argv)
        assert (status, red(found)) == (0, set()), found
        assert results(found, BUS) == ["ok"] * 4, found
    finally:
        bus.close()


@pytest.mark.parametrize("id", HOLES)
def test_hole_of_the_bus_is_red(make_bench, tmp_path, id):
    bench = make_bench()
    _, rules, more = HOLES[id]
    bus = BusWithLogins(bench, tmp_path / "guarded", rules, more)
    try:
        status, found = prove(bench, bench._argv)
        assert status == 1 and id in red(found), found
        # Without any list an app may do all else, too.
        also = {"prove-bus-apps", "prove-bus-control"} if id == "prove-bus-list" else set()
        assert red(found) <= {id} | also, found
        assert found[id]["next"]
    finally:
        bus.close()


def test_app_that_hears_what_another_is_told_is_red(make_bench, tmp_path):
    """Mosquitto grants every subscription here: only what it delivers shows it."""
    bench = make_bench()
    bus = BusWithLogins(bench, tmp_path / "guarded", READING)
    try:
        _, found = prove(bench, bench._argv)
        assert red(found) == {"prove-bus-apps"}, found
        assert "read postern/app/postern-doctor/#" in found["prove-bus-apps"]["found"]
    finally:
        bus.close()


OTHER = "6c1c2c53-50f8-4c2a-9a38-0d6e7c3f9b11"
BOARD_HOLES = {
    "prove-inbox": f"read {topics.ROOT}/+/inbox",
    "prove-authority": f"write {topics.ROOT}/+/outbox",
    "prove-control": "write $CONTROL/#",
}


def test_board_proves_the_upstream_broker_while_no_agent_runs(agent_bench):
    bench = agent_bench
    board = bench.live()
    status, found = prove(bench, bench._argv)
    # The agent keeps its place at the broker, and nobody else takes it.
    assert results(found, UPSTREAM) == ["ok", "skipped", "skipped", "skipped"], found
    assert "prove-bus-login" in red(found)
    assert bench.status()["uplink"] == "connected"
    bench.agent.stop()
    found = prove(bench, bench._argv)[1]
    assert results(found, UPSTREAM) == ["ok"] * 4, found
    bench.observer.publish(topics.inbox(OTHER), b"of another board", retain=True)
    right = list(bench.access._users[board.iid][1])
    for id, rule in BOARD_HOLES.items():
        bench.access.set_rules(board.iid, [*right, rule])
        found = prove(bench, bench._argv)[1]
        assert red(found) - {"prove-bus-login"} == {id}, (id, found)
    # What was tried on an outbox is no message of a board's.
    bench.authority.unopened.clear()


def test_authority_with_its_plugin_is_green_and_leaves_nothing(bench):
    bench.live_board()
    before = bench.cli_json("boards", "list")
    status, found = prove(bench, bench._authority)
    assert (status, results(found, UPSTREAM)) == (0, ["ok"] * 4), found
    clients = (bench.folder / "state").rglob("*dynamic*security*.json")
    for file in clients:
        names = [c["username"] for c in json.loads(file.read_text())["clients"]]
        assert len(names) == len(set(names)) and len(names) <= 8, names
    assert [b["installationId"] for b in bench.cli_json("boards", "list")] == [
        b["installationId"] for b in before]
    # Again, so that nothing of the first time is in its way.
    assert prove(bench, bench._authority)[0] == 0


def test_no_secret_was_told(evidence):
    assert_nothing_leaked(evidence)
