"""The fixtures of the tests against the real agent: one bench a test, closed after it."""

import pytest

from bench.agent_bench import AgentBench


@pytest.fixture
def make_bench(tmp_path, evidence, programs):
    made = []

    def make(**options) -> AgentBench:
        made.append(AgentBench(tmp_path, evidence, programs, **options))
        return made[-1]

    yield make
    for bench in made:
        bench.close()
    for bench in made:
        bench.assert_conforms()


@pytest.fixture
def bench(make_bench) -> AgentBench:
    return make_bench()
