"""The data that a person keeps of a board they release: the box, its page, and its end."""

import pytest
from bench.waiting import until
from browser import DESKTOP, PHONE, SCHEMES


def kept(house, board) -> int:
    """How many records the authority has of a board, for the administrator."""
    _, answer = house.admin.http("GET", f"/postern/v1/boards/{board.iid}/records")
    return len(answer.get("results", []))


def release(visitor, board, keeps: bool) -> None:
    visitor.open_board(board)
    visitor.end("#release")
    visitor.browser.wait("dialog")
    if keeps:
        visitor.browser.click("input[name=keep-data]")
    visitor.confirm("Release")
    visitor.browser.wait("h1", "Boards")


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_kept_data_has_a_page_until_it_is_deleted(house, visit, size, request):
    name = request.node.callspec.id
    boards = house.live_all({f"{name} attic": house.admin, f"{name} cellar": house.admin})
    attic, cellar = boards.values()
    for board in boards.values():
        for celsius in (20, 21, 22):
            assert "seq" in board.write(b'{"celsius":%d}' % celsius)
        until(lambda board=board: kept(house, board) == 3, "three records", 60)
    visitor = visit(size)
    browser = visitor.browser
    visitor.log_in()
    release(visitor, cellar, keeps=False)
    release(visitor, attic, keeps=True)
    link = f".former a[href='#/former/{attic.iid}']"
    browser.wait(link, attic.name)
    assert browser.text("#h-former") == "Data you kept"
    assert browser.accessibility() == []
    assert browser.find(f"a[href='#/former/{cellar.iid}']") is None
    assert kept(house, cellar) == 0

    browser.click(link)
    browser.wait("h1", attic.name)
    visitor.wait_plotted("Reading.celsius", "22")
    assert browser.find("#release") is None and browser.find("#rename") is None
    assert f"postern export --board '{attic.name}'" in browser.text(".readings")
    for scheme in SCHEMES:
        browser.scheme(scheme)
        browser.shot(f"{name}-{scheme}-former")
        faults = browser.accessibility() + browser.overflow() + browser.small_targets()
        assert faults == [], scheme

    browser.click("#delete-data")
    visitor.confirm("Delete")
    browser.wait("h1", "Boards")
    browser.wait_gone(link)
    assert kept(house, attic) == 0
    browser.go(f"/#/former/{attic.iid}")
    browser.wait(".notice", "You keep no data of this board.")


def test_list_of_boards_has_no_such_part_without_kept_data(house, phone):
    phone.log_in()
    phone.browser.wait("h1", "Boards")
    phone.browser.wait(".empty", "No board is paired yet")
    assert phone.browser.find("#h-former") is None
    assert phone.browser.accessibility() == []
