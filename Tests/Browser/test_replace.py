"""A board that died is replaced on its page, and the plot runs on."""

import json

import pytest
from bench.waiting import until
from browser import PHONE, SCHEMES
from test_languages import SIZE, english_left

# Plays the authority's part of a replacement: `window.lost` is what it says of the loss.
_PLAY = """
    const real = window.fetch, [old, by, lost] = %s;
    window.lost = lost;
    window.fetch = async (url, options) => {
      if (/\\/replace$/.test(url)) {
        const body = JSON.stringify({ installationId: old, replacedAt: 1, lost: window.lost, by });
        return new Response(body, { status: 200 });
      }
      const answer = await real(url, options);
      if (!String(url).endsWith(`/boards/${by}`)) return answer;
      const replaces = [{ installationId: old, replacedAt: 1, lost: window.lost }];
      return new Response(JSON.stringify({ ...await answer.json(), replaces }),
        { status: answer.status, headers: answer.headers });
    };
"""


def play(browser, *values) -> None:
    browser.driver.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument", {"source": _PLAY % json.dumps(values)})


@pytest.fixture(scope="module")
def pair(house):
    boards = house.live_all({"cellar": house.admin, "shed": house.admin})
    return boards["cellar"], boards["shed"]


def test_dead_board_is_replaced_and_its_plot_runs_on(house, visit):
    boards = house.live_all({"attic": house.admin, "spare": house.admin})
    old, new = boards["attic"], boards["spare"]
    last = old.write(b'{"celsius":20.5}')["seq"]
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
    browser.wait(".state .facts div", f"{old.iid[:8]}: lost after number {last}")
    visitor.wait_plotted("Reading.celsius", "20.5")
    assert "seq" in new.write(b'{"celsius":21.5}')
    visitor.wait_plotted("Reading.celsius", "21.5")
    browser.wait(".story", "Replaced another board")
    # The only other board has gone, so none can take this one's place.
    visitor.end("#replace")
    assert "Pair the new board first" in browser.text("dialog")


def test_loss_is_said_with_what_is_known_of_it(house, phone, pair):
    (old, new), browser = pair, phone.browser
    play(browser, old.iid, new.iid, None)
    phone.log_in()
    for after, waited, words in (
            (1234, 3, "lost after number 1,234; 3 messages waited at its last report"),
            (7, None, "lost after number 7"), (None, 1, "1 message waited at its last report"),
            (7, 0, "lost after number 7; 0 messages waited at its last report"),
            (None, None, "")):
        phone.open_board(old)
        browser.script("window.lost = arguments[0]", {"after": after, "waited": waited})
        phone.end("#replace")
        phone.confirm("Replace")
        said = "cellar goes on with the new board." + (words and f" Of the old one: {words}.")
        until(lambda: browser.script("return document.querySelector('.toast').textContent") == said,
              said, 60)
        browser.wait("h1", "shed")
        row = old.iid[:8] + (words and f": {words}")
        assert browser.text(".state .facts div", "In place of").endswith(row)
    assert browser.accessibility() == [] and browser.overflow() == []


@pytest.mark.parametrize("tag, words", [
    ("de-DE", "nach Nummer 7 verloren; 3 Nachrichten warteten bei der letzten Meldung"),
    ("es-ES", "perdido tras el número 7; 3 mensajes esperaban en su último informe")])
def test_other_languages_say_the_loss(house, visit, pair, tag, words):
    (old, new), visitor = pair, visit(SIZE, language=tag)
    browser, person = visitor.browser, house.admin
    play(browser, old.iid, new.iid, {"after": 7, "waited": 3})
    browser.open()
    browser.type("#username", person.name)
    browser.type("#password", person.password_file.read_text())
    browser.click("button.primary[type=submit]")
    browser.wait("article.board")
    visitor.open_board(new)
    browser.wait(".state .facts div", f"{old.iid[:8]}: {words}")
    assert english_left(browser, tag[:2]) == []
    assert browser.accessibility() == [] and browser.overflow() == []
