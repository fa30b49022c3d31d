"""A message that the upstream broker ends the connection for."""

import pytest

from bench.judge import End
from conftest import assert_nothing_leaked
from outbox_fixtures import make  # noqa: F401, a fixture

pytestmark = pytest.mark.slow

PACKET_TOO_LARGE = 0x95


@pytest.mark.parametrize("end", [End(), End(code=PACKET_TOO_LARGE)], ids=["closed", "told"])
def test_a_message_that_ends_the_connection_is_a_dead_letter(make, end):
    bench = make()
    board = bench.live()
    bench.way.judge = lambda write: end if b"poison" in write.payload else None
    given = [bench.app().write("Reading", b"poison" if n == 7 else b"%d" % n)["seq"]
             for n in range(12)]
    bench.wait_empty(240)
    # What was on its way when a connection ended comes twice.
    assert list(dict.fromkeys(bench.arrived())) == given[:7] + given[8:]
    bench.assert_buried({given[7]: "ended 3 connections in a row"})
    assert board


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
