"""`queue verify` and `queue export`: the queue is looked into while the agent runs, and after damage."""

import json

from agent_fixtures import make_bench  # noqa: F401, a fixture
from bench.state_folder import flip
from bench.waiting import until
from conftest import assert_nothing_leaked


def test_damage_is_named_set_aside_and_exported_while_the_rest_flows(make_bench):
    bench = make_bench()
    board = bench.live()
    app = bench.app()
    bench.stop_broker()
    numbers = [app.write("Reading", b'{"celsius":%d}' % n)["seq"] for n in range(6)]
    whole = json.loads(bench.command("queue", "verify", "--json"))
    assert whole["findings"] == [] and whole["writes"] >= 6
    assert json.loads(bench.command("queue", "show", "--json", ok=(0, 3)))["queue"][
        "writtenToday"] >= 6 * 4096
    bench.agent.kill()
    [segment] = (bench.folder / "state" / "outbox").glob("*-*.log")
    data = segment.read_bytes()
    # The fourth frame of writes from the end of what is written: one in the middle of them.
    places = [at for at in range(0, len(data), 8) if data[at:at + 4] == b"PsF1"]
    flip(segment, (places[-4] + 60) / len(data))
    found = json.loads(bench.command("queue", "verify", "--json", ok=(1,)))
    assert found["findings"] == [f"segment {segment.stem}: sequences {numbers[2]} to {numbers[2]}"]
    bench.start()
    bench.resume_broker(board.iid)
    until(lambda: bench.status()["queue"]["messages"] == 0, "the queue to drain", 60)
    losses = json.loads(bench.command("queue", "show", "--json", ok=(3,)))["losses"]
    assert losses["causes"] == {"damaged": 1} and losses["ranges"] == [[numbers[2]] * 2]
    assert bench.command("queue", "export").split() == [segment.stem]
    lines = [json.loads(line) for line in bench.command(
        "queue", "export", segment.stem).splitlines()]
    assert [line["seq"] for line in lines][-5:] == numbers[:2] + numbers[3:]


def test_nothing_leaked(evidence):
    assert_nothing_leaked(evidence)
