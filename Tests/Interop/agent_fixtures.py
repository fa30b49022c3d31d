"""The fixtures of the tests against the real agent: one bench a test, closed after it."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench.agent_bench import AgentBench


@contextmanager
def closed_after() -> Iterator[list[AgentBench]]:
    """A list for benches: at the end all are closed, and each is held against the contract."""
    made: list[AgentBench] = []
    yield made
    for bench in made:
        bench.close()
    for bench in made:
        bench.assert_conforms()


@pytest.fixture
def make_bench(tmp_path, evidence, programs):
    with closed_after() as made:
        def make(**options) -> AgentBench:
            made.append(AgentBench(tmp_path, evidence, programs, **options))
            return made[-1]

        yield make


@pytest.fixture
def bench(make_bench) -> AgentBench:
    return make_bench()
