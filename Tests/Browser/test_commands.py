"""A command to an app on a board, sent and answered at the page."""

import pytest
from bench.commanded import POLICY, Heater
from bench.waiting import until
from browser import DESKTOP, PHONE, SCHEMES

ANSWER = "#commands .answer"


def write(browser, text: str) -> None:
    browser.script("document.querySelector('textarea[name=command]').value = ''")
    browser.type("textarea[name=command]", text)
    browser.click("#commands button[type=submit]")


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_command_is_sent_and_its_answer_is_shown(house, visit, size, request):
    name = request.node.callspec.id
    board = house.live(f"heated {name}", policy=POLICY)
    heater = Heater(board)
    visitor = visit(size).log_in()
    browser = visitor.browser
    visitor.open_board(board)
    visitor.wait_live()
    browser.click("#commands > summary")
    browser.wait("#commands select[name=app] option", "heater")
    write(browser, "{celsius:21}")
    browser.wait(f"{ANSWER} .error", "This is not JSON.")
    assert heater.heard == []
    write(browser, '{"celsius":21}')
    browser.wait(ANSWER, 'heater: {"set":21}')
    browser.wait("#commands .rows .pill.good", "answered")
    write(browser, '{"celsius":31}')
    browser.wait("#commands .rows .pill.bad", "refused")
    browser.wait(ANSWER, "policy.toml:app.heater, celsius")
    assert [c["command"] for c in heater.heard] == [{"celsius": 21}]
    assert browser.find(f"{ANSWER}[role=status]")
    for scheme in SCHEMES:
        browser.scheme(scheme)
        browser.shot(f"{name}-{scheme}-command")
        faults = browser.accessibility() + browser.overflow() + browser.small_targets()
        assert faults == [], scheme
    heater.close()


def test_a_board_that_takes_no_commands_has_no_such_part(house, phone):
    board = house.live("not heated")
    phone.log_in()
    phone.open_board(board)
    phone.wait_live()
    until(lambda: house.admin.http("GET", f"/postern/v1/boards/{board.iid}")[1]["policyKnown"],
          "the board's report", 60)
    phone.browser.open(f"/#/boards/{board.iid}")
    phone.browser.wait("#h-rules")
    assert phone.browser.find("#commands > summary") is None
