"""The real `postern-agent` takes changes of its session's scope, and confirms each one."""

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.waiting import until
from conftest import assert_nothing_leaked

READINGS = {"default": "deny", "rules": [{"class": "Reading", "allow": ["create"]}]}


def confirmations(bench) -> list[str]:
    return [r.body["re"] for r in bench.authority.requests if r.type == "session.confirmed"]


def test_each_update_is_confirmed_and_so_is_its_repetition(bench):
    board = bench.live()
    first = bench.authority.update(board, READINGS)
    until(lambda: confirmations(bench) == [first["id"]], "the confirmation")
    [request] = [r for r in bench.authority.requests if r.type == "session.confirmed"]
    assert request.body["sessionId"] == board.login.id
    sealed = bench.authority.seal(board, first)
    bench.authority.send(board, sealed)
    until(lambda: confirmations(bench) == 2 * [first["id"]], "the second confirmation")
    bench.agent.kill()
    bench.start()
    until(lambda: bench.status()["uplink"] == "connected", "the agent to be back", 60)
    bench.barrier(board)
    bench.authority.send(board, sealed)
    until(lambda: confirmations(bench) == 3 * [first["id"]], "the third confirmation")
    second = bench.authority.update(board, {"default": "allow", "rules": []})
    until(lambda: confirmations(bench)[-1] == second["id"], "the new one confirmed")
    # The earlier one has been replaced: it is neither taken nor confirmed.
    bench.authority.send(board, sealed)
    bench.barrier(board)
    assert confirmations(bench)[3:] == [second["id"]]
    assert "seq" in bench.app().write("Door")
    bench.assert_conforms()


def test_an_update_that_cannot_be_read_is_not_confirmed(bench):
    board = bench.live()
    bench.authority.update(board, {"default": "perhaps"})
    bench.barrier(board)
    assert confirmations(bench) == []
    assert "seq" in bench.app().write("Door")


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
