"""What the authority's own policy ends, on boards that are online when it changes."""

import time

import pytest

from bench.ending import ending_by
from bench.house import House
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, measure  # noqa: F401, fixtures

pytestmark = pytest.mark.slow

HOUR = 3600
# Longer than a restart takes, or than a busy machine lets the programs stand still.
IDLE = 20


@pytest.fixture(scope="module")
def house_settings() -> str:
    return 'heartbeat = "1s"\n'


def restart(house: House, old: str, new: str) -> None:
    """The authority with another line in its configuration."""
    house.server.stop()
    path = house.config / "authority.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    house.start()


def test_lowered_absolute_limit_ends_what_is_older(house, measure):
    old, young = house.live("an hour old"), house.live("new")
    sessions = old.session_id, young.session_id
    mark = old.watcher.mark()
    house.server.stop()
    house.age(sessions[0], HOUR)
    restart(house, 'preset = "consumer"\n', 'preset = "consumer"\nabsolute = "30m"\n')
    ended = ending_by(old.thermo, lambda: None, 60)
    measure.tell("restart with a lower absolute limit: first 209 after the authority was back",
                 f"{ended.after_begun:.1f} s")
    said = old.wait_session("unavailable", since=mark)
    assert (said["reason"], said["code"]) == ("expired", 209)
    house.wait_event("session.farewell", sessions[0], 60)
    assert house.show(sessions[0])["state"] == "expired"
    assert house.show(sessions[1])["state"] == "active"
    assert "seq" in young.write()
    restart(house, 'absolute = "30m"\n', "")


def test_idle_limit_counts_from_the_last_word(house, measure):
    """A board that beats is not idle; one that is silent is, and hears of it at its return."""
    busy, silent = house.live("busy"), house.live("silent")
    sessions = busy.session_id, silent.session_id
    restart(house, 'preset = "consumer"\n', f'preset = "consumer"\nidle = "{IDLE}s"\n')
    until(lambda: busy.is_online() and silent.is_online(), "both to be back", 60)
    silent.agent.stop()
    begun = time.monotonic()
    until(lambda: state(house, sessions[1]) == "expired", "the silent one to expire", 120)
    measure.tell(f"idle limit of {IDLE} s: expired after", f"{time.monotonic() - begun:.1f} s")
    silent.start()
    until(lambda: silent.session_now["state"] == "unavailable", "the silent one to hear of it", 60)
    assert silent.write()["code"] == 209
    assert state(house, sessions[0]) == "active"
    assert "seq" in busy.write()


def state(house: House, session: str) -> str:
    """Asked with a fresh login: people's own idle, too."""
    house.admin.login()
    return house.show(session)["state"]


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
