"""A board that died is replaced on its page, and the plot runs on."""

from bench.waiting import until
from browser import PHONE, SCHEMES


def test_dead_board_is_replaced_and_its_plot_runs_on(house, visit):
    boards = house.live_all({"attic": house.admin, "spare": house.admin})
    old, new = boards["attic"], boards["spare"]
    assert "seq" in old.write(b'{"celsius":20.5}')
    visitor = visit(PHONE)
    browser = visitor.browser
    visitor.log_in()
    visitor.open_board(old)
    visitor.wait_plotted("Reading.celsius", "20.5")
    old.agent.stop()
    visitor.wait_state("Offline")
    visitor.end("#replace")
    browser.wait("dialog select[name=by]", "spare")
    assert "do not come along" in browser.text("dialog")
    for scheme in SCHEMES:
        browser.scheme(scheme)
        browser.shot(f"phone-{scheme}-replace")
        assert browser.accessibility() == [] and browser.overflow() == []
    browser.scheme("light")
    visitor.confirm("Replace")
    until(lambda: browser.address.endswith(new.iid), "the page of the new board")
    browser.wait("h1", "attic")
    visitor.wait_plotted("Reading.celsius", "20.5")
    assert "seq" in new.write(b'{"celsius":21.5}')
    visitor.wait_plotted("Reading.celsius", "21.5")
    browser.wait(".story", "Replaced another board")
    # The only other board has gone, so none can take this one's place.
    visitor.end("#replace")
    assert "Pair the new board first" in browser.text("dialog")
