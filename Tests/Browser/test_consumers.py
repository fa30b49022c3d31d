"""Consumers on the page: a login for another program, shown once, and gone when removed."""

import pytest

from bench.link import Link, Login, Refused
from bench.waiting import until
from postern_contract import topics


@pytest.fixture(scope="module")
def board(house):
    return house.live("greenhouse")


def open_page(visitor) -> None:
    visitor.log_in()
    visitor.browser.go("/#/consumers")
    visitor.browser.wait("h1", "Consumers")


def value(browser, selector: str) -> str:
    return browser.script("return document.querySelector(arguments[0]).value", selector)


def facts(browser) -> dict[str, str]:
    return dict(browser.script(
        "return [...document.querySelectorAll('dialog .facts > div')].map(d => "
        "[d.querySelector('dt').textContent, d.querySelector('dd').textContent])"))


@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_consumer_is_made_shown_once_and_removed(house, board, request, size):
    visitor = request.getfixturevalue(size)
    browser = visitor.browser
    open_page(visitor)
    browser.wait(".empty", "No consumers")
    browser.click("#add-consumer")
    browser.type("input[name=consumer]", f"hall-{size}")
    browser.click(f"input[name=board][value='{board.iid}']")
    browser.type("input[name=classes]", "Reading, Alarm")
    browser.shot(f"{size}-consumer-add")
    browser.click("dialog button[type=submit]", "Add")
    browser.wait("#consumer-password")
    password = value(browser, "#consumer-password")
    house.evidence.add_secret(f"the password of hall-{size}", password)
    shown = facts(browser)
    granted = browser.text("#consumer-topics").split()
    assert granted == [f"postern/v1/{board.iid}/data/Reading/#",
                       f"postern/v1/{board.iid}/data/Alarm/#", topics.status(board.iid)]
    browser.shot(f"{size}-consumer-login")
    browser.click("#copy-password")
    browser.wait(".toast.shown", "opi")
    port = int(shown["Address"].rpartition(":")[2])
    login = Login(port, shown["Client id"], shown["User name"], password)
    link = Link(login, subscribe=tuple(granted), journal=house.evidence.journal).open()
    assert "seq" in board.write(b'{"celsius":1}')
    link.wait_topic(topics.data(board.iid, "Reading", "create"), timeout=60)
    browser.click("dialog button[type=button]:last-of-type", "Close")
    browser.wait_gone("dialog")
    card = browser.wait(f"[data-consumer=hall-{size}]", "greenhouse")
    assert "Reading and Alarm" in card.text and "Never" in card.text
    assert password not in browser.script("return document.documentElement.outerHTML")
    browser.shot(f"{size}-consumers")
    browser.click(f"#remove-hall-{size}")
    visitor.confirm("Remove")
    browser.wait(".empty", "No consumers")
    until(lambda: not link.is_up, "the program to be cut off", 60)
    with pytest.raises(Refused):
        Link(login).open()


def test_refusal_stays_in_the_dialog(house, board, desktop):
    browser = desktop.browser
    open_page(desktop)
    browser.click("#add-consumer")
    browser.click("dialog button[type=submit]", "Add")
    browser.wait("dialog [role=alert]", "Type a name")
    browser.type("input[name=consumer]", "a b")
    browser.click("dialog button[type=submit]", "Add")
    browser.wait("dialog [role=alert]", "name")
