"""Alerts on the page: there while a board needs a person, and gone after."""

import pytest

from bench.evidence import Evidence
from bench.house import House
from bench.waiting import until


@pytest.fixture(scope="module")
def house(tmp_path_factory, programs):
    """A house where a board is offline after ten seconds."""
    house = House(tmp_path_factory.mktemp("house"), Evidence(), programs,
                  'heartbeat = "2s"\nspread = "0s"\n[alerts]\noffline_after = "10s"\n')
    yield house
    house.close()


def test_open_alerts_are_shown_live_on_both_pages(house, desktop, phone):
    board = house.live("barn")
    desktop.log_in()
    desktop.wait_live()
    phone.log_in()
    phone.open_board(board)
    phone.wait_live()
    hidden = "return document.querySelector('section.alerts').hidden"
    for visitor in (desktop, phone):
        # On a busy machine the board may have been away for a moment.
        until(lambda: visitor.browser.script(hidden), "no alert", 60)
    board.cable.pull()
    for visitor, name in ((desktop, "desktop-alerts"), (phone, "phone-board-alert")):
        found = visitor.browser.text("section.alerts li", "barn is offline")
        assert "last heard" in found
        visitor.browser.shot(name)
    board.cable.plug()
    for visitor in (desktop, phone):
        until(lambda: visitor.browser.script(hidden), "the alert to be gone", 60)
