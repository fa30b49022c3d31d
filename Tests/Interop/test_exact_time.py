"""`ts` is the authority's time to 50 ms, by real programs, a skewed clock and a slow way."""

import secrets
import time

import pytest

from bench.fake_clock import FakeClock
from bench.house import House, HouseBoard
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, house_settings, measure  # noqa: F401, fixtures

SKEWS = {"90 s fast": "+90", "3 days slow": "-259200", "half a second slow": "-0.5",
         "right": "+0"}
# In each direction, so that a round trip takes twice as long.
DELAY, TOLERANCE = 0.1, 0.05


def claim(house: House, name: str, clock: FakeClock) -> HouseBoard:
    """A board whose every round trip to the broker is slow, from the first on."""
    board = house.add_board(name, agent_env=clock.environment)
    board.cable.delay = DELAY
    url = board.pair()
    board.start()
    house.admin.claim(url).must_end()
    board.wait_settled()
    return board


def errors(house: House, board: HouseBoard, count: int) -> list[float]:
    """How far `ts` of each write is outside of the time in which it was accepted, in seconds."""
    found = []
    for _ in range(count):
        payload = b"%d" % secrets.randbelow(1_000_000_000)
        before = time.time()
        assert "seq" in board.write(payload)
        after = time.time()
        house.wait_data(board, {payload})
        message = next(m for m in house.data(board) if m.payload == payload)
        ts = int(message.user["ts"]) / 1000
        found.append(min(ts - before + 0.001, 0.0) or max(ts - after, 0.0))
    return found


@pytest.mark.parametrize("skew", SKEWS)
def test_ts_is_the_authoritys_time(house, tmp_path, measure, skew):
    board = claim(house, f"clock {skew}", FakeClock(tmp_path / "clock", SKEWS[skew]))
    assert house.consumer.is_up  # before the first write

    def exact() -> list[float]:
        """One exchange on a busy machine may be slow in one direction. The shortest counts."""
        board.command("session", "refresh", "--json", ok=(0, 1, 3, 5))
        found = errors(house, board, 5)
        return found if all(abs(error) <= TOLERANCE for error in found) else []

    found = until(exact, "ts to be right to 50 ms", 120)
    measure.tell(f"ts of a clock {skew} is off by ms", [round(1000 * e) for e in found])


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
