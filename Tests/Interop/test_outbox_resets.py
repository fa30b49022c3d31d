"""Connections that are reset: no write is at fault, so none becomes a dead letter."""

import pytest

from bench.judge import End
from conftest import assert_nothing_leaked
from outbox_fixtures import make  # noqa: F401, a fixture

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("how", [End(reset=True), End(reset=True, late=True)],
                         ids=["on the way there", "on the way back"])
def test_a_connection_that_is_reset_makes_no_dead_letter(make, how):
    """Even where it is reset at one write alone, again and again."""
    bench = make()
    bench.live()
    seen = []
    bench.way.judge = lambda write: seen.append(write.connection) or (
        how if len(set(seen)) <= 5 else None)
    given = bench.fill(5)
    bench.wait_empty(240)
    assert len(set(seen)) == 6
    assert sorted(set(bench.arrived())) == given
    bench.assert_buried({})


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
