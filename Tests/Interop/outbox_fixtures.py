"""The fixture of the tests of forwarding: benches under names of their own, closed after it."""

import pytest

from agent_fixtures import closed_after
from bench.judged_bench import JudgedBench


@pytest.fixture
def make(tmp_path, evidence, programs):
    with closed_after() as made:
        def make(name: str = "board", **options) -> JudgedBench:
            folder = tmp_path / name
            folder.mkdir()
            made.append(JudgedBench(folder, evidence, programs, **options))
            return made[-1]

        yield make
