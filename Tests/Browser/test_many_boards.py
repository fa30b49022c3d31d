"""A thousand boards on a phone with a slow processor: opened, searched, read on, and labeled."""

import time

import pytest

from bench.evidence import Evidence
from bench.house import House
from bench.listed_boards import ListedBoard, add_boards
from bench.waiting import until
from browser import PHONE

MANY = 1000
# Notes when the first boards can be seen, by the page's own clock.
_NOTE = """
    new MutationObserver((_, self) => {
      if (!document.querySelector("article.board") || !/online/.test(
        document.querySelector(".lead")?.textContent)) return;
      self.disconnect();
      requestAnimationFrame(() => setTimeout(() => { window.shownAt = performance.now(); }));
    }).observe(document, { childList: true, subtree: true, characterData: true });
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory, programs):
    """A house where a session ends forty days after it was made."""
    house = House(tmp_path_factory.mktemp("house"), Evidence(), programs, 'absolute = "40d"\n')
    add_boards(house, [
        ListedBoard(f"mast {n:04}", is_up=n % 10 > 0, labels=("north",) if n % 4 else ("south",))
        for n in range(MANY - 1)] + [ListedBoard("needle 100%_wet", labels=("south", "rare"))] + [
        ListedBoard(name) for name in ("yard a", "yard b", "yard c", "yard-1")])
    yield house
    house.close()


# The page's second request of one kind gets another answer, once.
_FAIL_SECOND = """
    const [method, part, status] = arguments, real = window.fetch;
    let asked = 0;
    window.fetch = (url, options) => options?.method === method && String(url).includes(part)
      && ++asked === 2
      ? Promise.resolve(new Response(JSON.stringify({ error: "not this one" }), { status }))
      : real(url, options);
"""
# The page hears no event: so it knows only what it was answered.
_DEAF = "window.EventSource = class extends EventTarget { close() {} };"


def cards(browser) -> int:
    return browser.script("return document.querySelectorAll('article.board').length")


def said(browser) -> str:
    """The last short message, also after it went."""
    return browser.script("return document.querySelector('.toast').textContent")


def test_a_thousand_boards_open_on_a_phone(house, phone, record_property, capsys):
    phone.log_in()
    browser = phone.browser
    browser.wait("article.board")
    browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _NOTE})
    browser.driver.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": 4})
    times = []
    for _ in range(3):
        browser.open()
        times.append(until(lambda: browser.script("return window.shownAt"), "the boards", 60))
    told = ", ".join(f"{time:.0f} ms" for time in times)
    record_property("a thousand boards, 4 times slower", told)
    with capsys.disabled():
        print(f"\n  {MANY} boards on a phone, 4 times slower: opened in {told}", flush=True)
    # The page has read one part of the list, and knows how many there are.
    assert 0 < cards(browser) < 200
    assert " of 1,00" in browser.text(".lead", "online")
    browser.driver.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": 1})
    browser.shot("phone-many-boards", whole=False)


def test_the_list_goes_on_by_scrolling_and_by_keyboard(house, phone):
    phone.log_in()
    browser = phone.browser
    browser.wait("#more")
    first = cards(browser)
    browser.script("window.scrollTo(0, document.documentElement.scrollHeight)")
    until(lambda: cards(browser) > first, "a further page", 60)
    # By keyboard the next page is asked for, and the focus goes to the first new board.
    before = cards(browser)
    browser.script("document.getElementById('more').focus({ preventScroll: true })")
    browser.press("\ue007")  # Enter
    until(lambda: cards(browser) > before, "a page by keyboard", 60)
    place = until(lambda: browser.script("""
        const card = document.activeElement.closest("article.board");
        return [...document.querySelectorAll("article.board")].indexOf(card)"""),
        "the focus on a board", 60)
    assert place >= before
    names = browser.script(
        "return [...document.querySelectorAll('article.board h2')].map(e => e.textContent)")
    assert len(set(names)) == len(names)


def test_boards_are_searched_labeled_and_signed_out_together(house, phone):
    phone.log_in()
    browser = phone.browser
    browser.wait("article.board")
    browser.type("#search", "100%_")
    browser.wait(".lead", "1 board found")
    assert cards(browser) == 1
    browser.type("#search", "mast 000")
    browser.wait(".lead", "10 boards found")
    browser.click("#select")
    browser.click("#pick-all")
    browser.wait(".picked", "10 boards selected")
    browser.click("label.pick")
    browser.wait(".picked", "9 boards selected")
    for width in (360, 390):
        browser.resize((width, PHONE[1]))
        assert browser.overflow() == [] and browser.small_targets() == []
    browser.resize(PHONE)
    assert browser.accessibility() == []
    browser.shot("phone-many-selected", whole=False)
    browser.click("#label-all")
    browser.type("dialog [name=add]", "bärn")
    browser.click("dialog button[type=submit]", "Label")
    browser.wait("dialog .error", "ärn is no label")
    browser.type("dialog [name=add]", "Greenhouse east")
    browser.type("dialog [name=remove]", "north")
    assert browser.accessibility() == []
    browser.click("dialog button[type=submit]", "Label")
    until(lambda: said(browser) == "9 boards of 9 done.", "the labels", 60)
    browser.wait_gone("dialog")
    browser.click("#extend-all")
    until(lambda: said(browser).startswith("None of these sessions"), "why nothing is offered", 60)
    # None has a session: each says so, and nothing else happens to it.
    browser.click("#sign-out-all")
    browser.click("dialog button[type=submit]", "Sign out")
    assert "0 boards of 9 done" in browser.text("dialog .error", "done")
    until(lambda: browser.script("return [...document.querySelectorAll('dialog .each li')]"
                                 ".filter(e => /no active session/.test(e.textContent)).length")
          == 9, "a result for each board", 60)
    browser.shot("phone-many-results", whole=False)
    browser.click("dialog button", "Close")
    browser.wait_gone("dialog")
    browser.click("#select")
    browser.open()
    browser.wait("article.board")
    browser.script("""const s = document.getElementById("label"); s.value = "greenhouse";
        s.dispatchEvent(new Event("change", { bubbles: true }))""")
    browser.wait(".lead", "9 boards found")
    assert "east, greenhouse" in browser.text("article.board", "Labels")


def test_all_shown_is_all_that_match_a_search(house, phone):
    phone.log_in()
    browser = phone.browser
    browser.wait("article.board")
    browser.type("#search", "mast 01")
    browser.wait(".lead", "100 boards found")
    browser.click("#select")
    assert cards(browser) < 100
    # One page fails, and then nothing is selected.
    browser.script(_FAIL_SECOND, "GET", "cursor=", 503)
    browser.click("#pick-all")
    until(lambda: "Not this one" in said(browser), "why not all were loaded", 60)
    browser.wait(".picked", "0 boards selected")
    browser.click("#pick-all")
    browser.wait(".picked", "100 boards selected")
    assert cards(browser) == 100


@pytest.mark.parametrize("status, pattern, numbers, done", [
    (403, "yard-{n}", (2, 3, 4), "2 boards of 3"),
    (503, "yard-{n} east", (1, 2, 3), "1 board of 3"),
], ids=["goes-on", "stops"])
def test_a_second_try_of_rename_gives_no_name_twice(house, phone, status, pattern, numbers, done):
    """Nor the name of `yard-1`, which is shown and not selected."""
    browser = phone.browser
    browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _DEAF})
    phone.log_in()
    browser.wait("article.board")
    browser.type("#search", "yard")
    browser.wait(".lead", "4 boards found")
    browser.click("#select")
    browser.click("#pick-all")
    browser.wait(".picked", "4 boards selected")
    browser.script("""
        [...document.querySelectorAll("article.board")]
          .find(e => e.querySelector("h2").textContent === "yard-1")
          .querySelector(".pick input").click()""")
    browser.wait(".picked", "3 boards selected")
    browser.script(_FAIL_SECOND, "PUT", "/boards/", status)
    browser.click("#rename-all")
    browser.type("dialog [name=pattern]", pattern)
    browser.click("dialog button[type=submit]", "Rename")
    browser.wait("dialog .error", f"{done} done. Try the others again")
    phone.confirm("Rename")
    found = house.cli_json("boards", "list", "--search", "yard")
    wanted = [pattern.format(n=n) for n in numbers] + ["yard-1"]
    assert sorted(board["name"] for board in found) == sorted(wanted)


def test_boards_with_sessions_are_extended_and_signed_out_and_each_result_is_shown(house, phone):
    live = house.live_all({name: house.admin for name in ("alive a", "alive b")},
                          "--duration", "7d")
    phone.log_in()
    browser = phone.browser
    browser.wait("article.board")
    browser.type("#search", "alive")
    browser.wait(".lead", "2 boards found")
    browser.click("#select")
    browser.click("#pick-all")
    browser.click("#rename-all")
    browser.type("dialog [name=pattern]", "alive")
    browser.click("dialog button[type=submit]", "Rename")
    browser.wait("dialog .error", "The name needs {n} once")
    browser.type("dialog [name=pattern]", "alive {n}")
    assert browser.accessibility() == []
    browser.shot("phone-many-rename", whole=False)
    browser.click("dialog button[type=submit]", "Rename")
    browser.wait_gone("dialog")
    browser.wait("article.board", "alive 2")
    browser.click("#rules-all")
    browser.wait("dialog input[value=readings]")
    browser.script("document.querySelector('dialog input[value=readings]').click()")
    browser.click("dialog button[type=submit]", "Change")
    browser.wait_gone("dialog")
    for board in live.values():
        assert house.show(board.session_id)["scope"]["default"] == "deny"
    # A board whose session lives is not renewed.
    browser.click("#renew-all")
    browser.click("dialog button[type=submit]", "Renew")
    browser.wait("dialog .error", "0 boards of 2 done")
    browser.click("dialog button", "Close")
    browser.wait_gone("dialog")
    # The longest span that is offered is what the authority allows.
    browser.click("#extend-all")
    browser.click("dialog button[type=submit]", "Extend")
    until(lambda: said(browser) == "2 boards of 2 done.", "the later ends", 60)
    browser.wait_gone("dialog")
    for board in live.values():
        left = house.show(board.session_id)["expiresAt"] - time.time()
        assert left > 39 * 86_400, left
    # One session has ended: it fails alone.
    house.revoke(live["alive b"].session_id)
    browser.wait("article.board", "Signed out")
    browser.click("#sign-out-all")
    browser.click("dialog button[type=submit]", "Sign out")
    browser.wait("dialog .error", "1 board of 2 done")
    results = browser.script("return [...document.querySelectorAll('dialog .each li')]"
                             ".map(e => e.textContent)")
    assert [("signed out" in text or "not yet delivered" in text, "no active session" in text)
            for text in sorted(results)] == [(True, False), (False, True)], results
    for name in live:
        state = until(lambda: wait_ended(house, live[name].iid), f"{name} to be signed out", 60)
        assert state == "revoked"


def wait_ended(house, iid: str) -> str | None:
    found = next(b for b in house.cli_json("boards", "list", "--search", iid))
    return found["sessionEnd"] if found["sessionState"] is None else None
