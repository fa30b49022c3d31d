"""`postern send` to an app, through a real authority, a real broker and a real agent."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.commanded import Heater, POLICY
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, house_settings  # noqa: F401, fixtures


@pytest.fixture(scope="module")
def board(house):  # noqa: F811
    """A board whose policy takes commands for the app `heater`."""
    return house.live("heated", policy=POLICY)


@pytest.fixture
def heater(board):
    heater = Heater(board)
    yield heater
    heater.close()


def send(house, board, command, *more):  # noqa: F811
    return house.admin.cli(
        "send", board.name, "heater", json.dumps(command), *more, timeout=120)


def test_an_app_gets_a_command_and_its_answer_comes_back(house, board, heater):  # noqa: F811
    done = send(house, board, {"celsius": 21})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"set": 21}
    steps = [line for line in done.stderr.splitlines() if line.startswith("✓")]
    assert [step.split()[1] for step in steps] == ["sealed", "delivered", "answered"]
    assert [c["command"] for c in heater.heard] == [{"celsius": 21}]


def test_the_boards_own_policy_decides(house, board, heater):  # noqa: F811
    for command, words in [
        ({"celsius": 31}, "field celsius"), ({"watts": 5}, "field watts"), ([1], "policy.toml"),
    ]:
        done = send(house, board, command)
        assert done.returncode == 1 and words in done.stderr, done.stderr
    assert heater.heard == []
    # The authority knows from the board's report which apps take commands.
    until(lambda: "takes no commands for fan" in house.admin.cli(
        "send", board.name, "fan", "1").stderr, "the report of the policy", 60)


def test_a_command_waits_for_a_board_that_is_away(house, board, heater):  # noqa: F811
    board.cable.pull()
    until(lambda: house.admin.http("GET", f"/postern/v1/boards/{board.iid}")[1]["status"]
          == "down", "the board to be away", 60)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(send, house, board, {"celsius": 19}, "--deadline", "10m")
        path = f"/postern/v1/boards/{board.iid}/commands"
        until(lambda: house.admin.http("GET", path)[1]["commands"][0]["state"] == "waiting",
              "the command to wait", 60)
        board.agent.kill()
        board.start()
        board.cable.plug()
        done = sent.result()
    assert done.returncode == 0, done.stderr
    assert [c["command"] for c in heater.heard] == [{"celsius": 19}]


def test_an_app_that_gives_no_answer(house, board, heater):  # noqa: F811
    heater.answers = False
    done = send(house, board, {"celsius": 22}, "--deadline", "15s", "--json")
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["state"] == "expired"
    assert json.loads(done.stdout)["delivered"] is True
    assert len(heater.heard) == 1


def test_a_command_that_its_board_does_not_get_in_time(house, board, heater):  # noqa: F811
    board.cable.pull()
    # To a board that counts as connected it would be sent, and nobody would know its outcome.
    until(lambda: house.admin.http("GET", f"/postern/v1/boards/{board.iid}")[1]["status"]
          == "down", "the board to be away", 60)
    done = send(house, board, {"celsius": 23}, "--deadline", "1s")
    assert done.returncode == 5, done.stderr
    board.cable.plug()
    until(board.is_online, "the board to come back", 60)
    done = send(house, board, {"celsius": 24})
    assert done.returncode == 0, done.stderr
    assert [c["command"] for c in heater.heard] == [{"celsius": 24}]


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
