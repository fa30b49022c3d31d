"""The user property `key`: one record and one `seq`, however often an app repeats a write."""

import random
import time
import uuid

import pytest

from agent_fixtures import make_bench  # noqa: F401, fixture
from bench.waiting import until
from postern_contract import topics

SEED = 20261125
CREATE = topics.app("thermo", "create", "Reading")


@pytest.fixture(params=["always", "spill"])
def bench(request, make_bench):
    return make_bench(settings=f'[outbox]\ndurability = "{request.param}"\n')


def records(bench) -> dict[bytes, list[int]]:
    """The `seq` of each data message that the observer heard, by payload."""
    found: dict[bytes, list[int]] = {}
    for message in bench.data_heard():
        found.setdefault(message.payload, []).append(int(message.user["seq"]))
    return found


def has_drained(bench) -> bool:
    return bench.status()["queue"]["messages"] == 0


def restart_bus(bench):
    """It keeps no session, so no packet is known by its id. The app connects again."""
    bench.bus.stop()
    mark = bench.watcher.mark()
    bench.bus.start()
    bench.wait_session("available", since=mark, timeout=60)
    return bench.app()


def test_a_repeated_write_is_one_record(bench):
    board = bench.live()
    app = bench.app()
    key, others = str(uuid.uuid4()), {}
    seqs = [app.write("Reading", b"the one", key=key)["seq"]]
    bench.wait_data(board, b"the one")
    until(lambda: has_drained(bench), "the record to leave", 60)
    for number in range(20):
        if number % 7 == 2:
            bench.agent.kill()
            bench.start()
        if number % 7 == 4:
            app = restart_bus(bench)
        if number == 10:
            assert bench.agent.stop(timeout=60) == 0
            bench.start()
        # What comes with the key again does not count. Other writes come between.
        seqs.append(app.write("Reading", b"again %d" % number, key=key)["seq"])
        others[b"other %d" % number] = {
            app.write("Reading", b"other %d" % number, key=f"other {number}")["seq"]}
    assert set(seqs) == {seqs[0]}
    last = app.write("Reading", b"the last", key="another")["seq"]
    bench.wait_data(board, b"the last")
    found = {payload: set(seqs) for payload, seqs in records(bench).items()}
    assert found == {b"the one": {seqs[0]}, b"the last": {last}, **others}
    assert app.write("Reading", b"without", key=None)["seq"] == last + 1


def test_a_lost_answer_makes_no_second_record(bench, request):
    """The agent is killed while it takes writes; the app repeats each until it is answered.

    With "spill" a write on its way keeps its `seq` only if the bus repeats it. So the bus forgets
    only with "always".
    """
    board = bench.live()
    app = bench.app()
    draw = random.Random(SEED)
    given: dict[bytes, int] = {}
    is_always = request.node.callspec.params["bench"] == "always"
    for life in range(6):
        keys = {b"life %d, write %d" % (life, n): str(uuid.uuid4()) for n in range(25)}
        sent = {payload: [app.send(CREATE, payload, key=key, wait=False)]
                for payload, key in keys.items()}
        time.sleep(draw.uniform(0, 0.03))
        bench.agent.kill()
        if life % 3 == 2 and is_always:
            app = restart_bus_while_down(bench)
        bench.start()
        for _ in range(2):
            for payload, key in keys.items():
                sent[payload].append(app.send(CREATE, payload, key=key, wait=False))
        for payload, asked in sent.items():
            until(lambda: app.answer_to(asked[-1]), "an answer to the last repetition", 60)
            answers = {app.answer_to(c)["seq"] for c in asked if app.answer_to(c)}
            assert len(answers) == 1, f"{payload!r} was answered {answers}"
            given[payload] = answers.pop()
    bench.wait_data(board, b"life 5, write 24", timeout=60)
    until(lambda: records(bench).keys() >= given.keys(), "all to arrive", 60)
    # QoS 1 upstream may bring a record twice, under the same number.
    assert {payload: set(seqs) for payload, seqs in records(bench).items()} == {
        payload: {seq} for payload, seq in given.items()}
    assert len(set(given.values())) == len(given)


def restart_bus_while_down(bench):
    bench.bus.stop()
    bench.bus.start()
    return bench.app()


def test_a_refused_write_is_judged_again(bench):
    key = "the same all the time"
    bench.start()
    app = bench.app()
    assert app.write("Reading", b"early", key=key)["code"] == 206
    bench.agent.stop()
    board = bench.live()
    assert app.write("_User", b"{}", key=key)["code"] == 119
    seq = app.write("Reading", b"now", key=key)["seq"]
    bench.wait_data(board, b"now")
    assert app.write("_User", b"{}", key=key) == {"seq": seq}
    for key in ["", "k" * 65]:
        refused = app.write("Reading", b"odd", key=key)
        assert (refused["code"], refused["rule"]) == (105, "builtin:key")
    assert app.write("Reading", b"longest", key="k" * 64)["seq"] == seq + 1
