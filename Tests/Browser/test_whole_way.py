"""From a scanned code to a plot, on a phone with a passkey: the person types nothing but a name."""

from browser import PHONE
from test_passkeys import add, come, house, log_in_by_passkey, open_passkeys  # noqa: F401
from virtual_authenticator import VirtualAuthenticator

# Counts each key that is pressed in a page, over all pages of the visit.
COUNT = """
addEventListener("keydown", () => {
  const counted = Number(sessionStorage.getItem("keys"));
  sessionStorage.setItem("keys", counted + 1);
}, true);
"""


def keys(browser) -> int:
    return int(browser.script("return Number(sessionStorage.getItem('keys'))"))


def test_whole_way_types_only_a_name(house, come):  # noqa: F811
    person = house.user("olga", "--claim")
    visitor = come(PHONE)
    browser = visitor.browser
    VirtualAuthenticator(browser)
    visitor.log_in(person)
    open_passkeys(browser)
    add(visitor, "My phone")
    visitor.log_out()

    browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": COUNT})
    board = house.add_board("whole-way")
    address = visitor.claim_address(board)
    board.start()
    browser.open(address)
    browser.wait("h1", "Pair whole-way")
    log_in_by_passkey(browser)
    browser.wait("#pair")
    assert keys(browser) == 0
    browser.type("main form input[maxlength='64']", "Barn")
    assert keys(browser) >= len("Barn")
    typed = keys(browser)
    browser.click("#pair")
    visitor.wait_step("opened")
    board.wait_session("available")
    board.write(b'{"celsius":20.5}')
    visitor.wait_step("data")
    browser.click("main a.primary", "See its readings")
    visitor.wait_live()
    visitor.wait_state("Online")
    board.write(b'{"celsius":21.25}')
    visitor.wait_plotted("Reading.celsius", "21.25")
    browser.shot("phone-whole-way")
    assert keys(browser) == typed, "nothing but the name was typed"
