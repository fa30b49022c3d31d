"""A board that its owner shares: the link, the screen of an invitation, and the end of a share."""

import pytest
from browser import DESKTOP, PHONE, SCHEMES


@pytest.fixture(scope="module")
def board(house):
    board = house.live("barn")
    for celsius in (20, 21):
        assert "seq" in board.write(b'{"celsius":%d}' % celsius)
    return board


def check(browser, name: str) -> None:
    """Both colour schemes, with a picture of each, and the width of a phone."""
    for scheme in SCHEMES:
        browser.scheme(scheme)
        browser.shot(f"{name}-{scheme}")
        faults = browser.accessibility() + browser.overflow() + browser.small_targets()
        assert faults == [], (name, scheme)
    browser.scheme(SCHEMES[0])


def shared_with(browser) -> str:
    if not browser.script("return document.querySelector('#shared').open"):
        browser.click("#shared > summary")
    browser.wait("#shared li")
    return browser.text("#shared")


def invite(visitor, right: str, classes: str = "") -> str:
    """The path of a new link."""
    browser = visitor.browser
    shared_with(browser)
    browser.click("#invite")
    browser.click(f"dialog input[name=right][value={right}]")
    if classes:
        browser.type("dialog input[name=classes]", classes)
    check(browser, f"invite-{right}")
    browser.click("dialog button[type=submit]", "Invite")
    browser.wait("#invitation-link")
    link = browser.script("return document.querySelector('#invitation-link').value")
    visitor.house.evidence.add_secret("the secret of an invitation", link.rpartition("/")[2])
    check(browser, f"invitation-link-{right}")
    browser.click("#copy-link")
    browser.wait(".toast.shown", "opi")
    browser.click("dialog button[type=button]:last-of-type", "Close")
    browser.wait_gone("dialog")
    assert "#/invitation/" in link
    return "/#" + link.partition("#")[2]


def accept(visitor, person, path: str) -> None:
    visitor.browser.open(path)
    visitor.fill_login(person)
    visitor.browser.wait("#offer", "barn")


def test_board_is_seen_by_a_link_until_its_owner_removes_the_person(house, visit, board):
    owner, guest = visit(DESKTOP), visit(PHONE)
    person = house.user("greta")
    owner.log_in()
    owner.open_board(board)
    assert "Nobody else sees this board." in shared_with(owner.browser)
    path = invite(owner, "see", "Reading")
    owner.browser.wait("#shared li", "An open invitation")

    accept(guest, person, path)
    browser = guest.browser
    offer = browser.text("#offer")
    assert house.admin.name in offer and "See: Reading" in offer and "In place of" not in offer
    check(browser, "phone-invitation")
    # By the keyboard alone: the link changed nothing until here.
    browser.script("document.querySelector('#accept').focus()")
    browser.press("\ue007")
    browser.wait("h1", "barn")
    guest.wait_plotted("Reading.celsius", "21")
    guest.wait_live()
    check(browser, "phone-shared-board")
    hidden = "#rename, #label, #release, #sign-out, #invite, #renew, #change-rules, #shared"
    assert browser.script(
        "return [...document.querySelectorAll(arguments[0])].filter(e => e.offsetParent).length",
        hidden) == 0
    assert "See: Reading" in browser.text(".side .state")
    assert "seq" in board.write(b'{"celsius":22}')
    guest.wait_plotted("Reading.celsius", "22")

    # The owner's page follows by itself.
    owner.browser.wait("#shared li", "greta")
    check(owner.browser, "desktop-shared-with")
    owner.browser.click("#shared li button", "Remove")
    owner.confirm("Remove")
    # The open page shows the board no more, by itself.
    browser.wait(".notice", "There is no such board")
    assert browser.find("[data-series]") is None
    browser.go("/#/boards")
    browser.wait(".empty", "No board is paired")

    browser.go(path)
    browser.wait(".notice", "does not serve any more")


def test_board_is_managed_and_left(house, visit, board):
    owner, guest = visit(PHONE), visit(PHONE)
    person = house.user("hugo")
    owner.log_in()
    owner.open_board(board)
    path = invite(owner, "manage")
    accept(guest, person, path)
    browser = guest.browser
    browser.click("#accept")
    browser.wait("h1", "barn")
    browser.wait(".timeline li .what")
    browser.click("#rename")
    browser.type("input[name=newname]", "shed")
    guest.confirm("Rename")
    browser.wait("h1", "shed")
    owner.browser.wait("h1", "shed")
    browser.go("/#/boards")
    browser.wait("article.board", "Manage")
    check(browser, "phone-shared-list")
    browser.click("article.board a")
    guest.end("#leave")
    guest.confirm("Leave")
    browser.wait(".empty", "No board is paired")
    owner.browser.wait("#shared li", "Nobody else")
