"""SIGTERM with writes on their way: none is acknowledged to the bus that nobody looked at."""

import os
import signal

import pytest

from agent_fixtures import make_bench  # noqa: F401, fixture
from postern_contract import topics


@pytest.fixture(params=["always", "spill"])
def bench(make_bench, request):
    return make_bench(settings=f'[outbox]\ndurability = "{request.param}"\n')


def test_what_came_in_one_read_with_the_signal_arrives(bench):
    board = bench.live()
    app = bench.app()
    app.write("Reading", b"before")
    os.kill(bench.agent.pid, signal.SIGSTOP)
    payloads = [b"%d" % n for n in range(20)]
    for payload in payloads:
        app.send(topics.app(app.name, "create", "Reading"), payload)
    os.kill(bench.agent.pid, signal.SIGTERM)
    os.kill(bench.agent.pid, signal.SIGCONT)
    assert bench.agent.stop(timeout=60) == 0
    bench.start()
    for payload in payloads:
        bench.wait_data(board, payload)
    assert bench.status()["gaps"] == 0
