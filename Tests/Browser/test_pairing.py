"""A board paired with a phone in one hand, seen at work, and signed out."""

import urllib.parse

import pytest
from bench.waiting import until
from browser import DESKTOP, PHONE
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from visitor import wait_board


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_board_is_paired_seen_and_signed_out(house, visit, size, request):
    name = request.node.callspec.id
    visitor, board = visit(size), house.add_board(f"greenhouse {name}")
    browser = visitor.browser
    address = visitor.claim_address(board)
    board.start()
    browser.open(address)
    browser.wait("h1", board.name)
    assert "#" not in browser.address, "the claim stays in no address and in no history"
    browser.shot(f"{name}-claim-login")
    visitor.fill_login()
    browser.wait("#pair")
    browser.shot(f"{name}-claim")
    browser.click("#pair")
    visitor.wait_step("sent")
    visitor.wait_step("opened")
    board.wait_session("available", timeout=60)
    browser.shot(f"{name}-claim-opened")
    board.write(b'{"celsius":20.5}')
    visitor.wait_step("data")
    browser.shot(f"{name}-claim-data")
    browser.click("main a.primary", "See its readings")

    browser.wait("h1", board.name)
    visitor.wait_live()
    visitor.wait_state("Online")
    visitor.wait_plotted("Reading.celsius", "20.5")
    for celsius in (21.25, 22.5, 21.75, 23.25):
        board.write(b'{"celsius":%.2f}' % celsius)
    visitor.wait_plotted("Reading.celsius", "23.25")
    browser.wait("[data-series='Reading.celsius'] .sums", "greatest 23.25")
    browser.shot(f"{name}-board")

    mark = board.watcher.mark()
    visitor.end("#sign-out")
    visitor.confirm("Sign out")
    board.wait_session("unavailable", since=mark, timeout=60)
    visitor.wait_state("session")
    assert board.write(b'{"celsius":99}')["code"] == 209
    assert visitor.plotted("Reading.celsius") == "23.25", "nothing comes any more"
    browser.wait(".story", "Signed out")
    browser.shot(f"{name}-board-signed-out")
    wait_board(house, board, sessionId=None)


def test_pairing_needs_no_pointer(house, visit):
    visitor, board = visit(PHONE), house.add_board("by keyboard")
    browser = visitor.browser
    address = visitor.claim_address(board)
    board.start()
    browser.open(address)
    browser.wait("#username")
    assert browser.focused.get_attribute("id") == "username"
    browser.press(house.admin.name, Keys.TAB)
    browser.press(house.admin.password_file.read_text(), Keys.ENTER)
    browser.wait("#pair")
    assert browser.focused.tag_name == "h1"
    tab_to(browser, "[name=duration]")
    browser.press(Keys.ARROW_LEFT)
    tab_to(browser, "[name=rules]")
    browser.press(Keys.ARROW_DOWN)
    tab_to(browser, "#pair")
    assert outline(browser), "the focus is seen"
    browser.press(Keys.ENTER)
    visitor.wait_step("opened")
    session = board.wait_session("available")["session"]
    board.write(b'{"on":true}')
    visitor.wait_step("data")
    tab_to(browser, "a.primary")
    browser.press(Keys.ENTER)
    browser.wait("h1", board.name)
    rules = browser.text("section.rules", "may")
    assert "Any app may create Reading" in rules
    shown = house.show(session["objectId"])
    assert shown["restricted"] is True
    assert shown["scope"] == {
        "default": "deny", "rules": [{"class": "Reading", "allow": ["create"]}]}


def test_default_of_the_page_is_that_of_the_command_line(house, visit):
    """Everything that the contract leaves to a restricted session: each example app may write."""
    visitor, board = visit(PHONE), house.add_board("by default")
    browser = visitor.browser
    address = visitor.claim_address(board)
    board.start()
    browser.open(address)
    visitor.fill_login()
    browser.click("#pair")
    visitor.wait_step("opened")
    session = board.wait_session("available")["session"]["objectId"]
    typed = house.live("by the command line").session_id
    assert house.show(session)["scope"] == house.show(typed)["scope"] is None
    # The classes of the apps of Devices/APPS.md and of the demo.
    assert "seq" in board.app("thermo").write("Reading", b'{"celsius":20.5}')
    assert "seq" in board.app("vitals").write("Vitals", b'{"load":0.5}')
    assert board.app("vitals").write("_User")["code"] == 119


def test_pasted_url_is_as_good_as_a_code(house, phone):
    board = house.add_board("pasted")
    url = board.pair()
    board.start()
    phone.log_in(path="/claim")
    browser = phone.browser
    browser.wait("h1", "Pair a board")
    browser.shot("phone-claim-intake")
    browser.click("main button[type=submit]")
    assert "Paste" in browser.text(".error", "Paste")
    # A terminal breaks long lines.
    browser.type("textarea", url[:60] + "\n" + url[60:])
    browser.click("main button[type=submit]")
    browser.wait("h1", "Pair pasted")
    browser.click("#pair")
    phone.wait_step("opened")


# Chromium for Linux has no detector, and the machine no camera: what the page asks of both.
DETECTOR = """
globalThis.BarcodeDetector = class {
  static async getSupportedFormats() { return ["qr_code"]; }
  async detect(source) {
    const seen = sessionStorage.getItem("seen");
    return source.videoWidth && seen ? [{ rawValue: seen }] : [];
  }
};
if (navigator.mediaDevices) navigator.mediaDevices.getUserMedia = async () => {
  const canvas = document.createElement("canvas");
  canvas.getContext("2d").fillRect(0, 0, 9, 9);
  globalThis.camera = canvas.captureStream(10);
  return globalThis.camera;
};
"""


def test_the_camera_is_offered_only_where_the_browser_reads_codes(phone):
    phone.log_in(path="/claim")
    phone.browser.wait("h1", "Pair a board")
    assert not phone.browser.driver.find_elements(By.ID, "scan")


def test_code_is_read_by_the_browser(house, phone):
    board = house.add_board("scanned")
    url = board.pair()
    board.start()
    driver = phone.browser.driver
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": DETECTOR})
    phone.log_in(path="/claim")
    phone.browser.wait("h1", "Pair a board")
    phone.browser.click("#scan")
    phone.browser.wait("video")
    phone.browser.script("sessionStorage.setItem('seen', arguments[0])", url)
    phone.browser.wait("h1", "Pair scanned")
    phone.browser.script("sessionStorage.clear()")
    assert phone.browser.script("return camera.getTracks().every(t => t.readyState === 'ended')")
    phone.browser.click("#pair")
    phone.wait_step("opened")


def test_secret_of_a_claim_leaves_the_page_once(house, phone):
    """It is in no address, no history, no storage, and in no request but the claim's."""
    board = house.add_board("kept secret")
    address = phone.claim_address(board)
    fragment = urllib.parse.parse_qs(address.partition("#")[2])
    phone.log_in(path=address)
    browser = phone.browser
    browser.wait("#pair")
    secret = fragment["c"][0]
    assert secret not in browser.address
    assert browser.script("return history.length") <= 3
    assert browser.script("return sessionStorage.length + localStorage.length") == 0
    urls = browser.script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert urls and not [url for url in urls if secret in url]
    assert secret not in browser.script("return document.documentElement.outerHTML")


def tab_to(browser, selector: str) -> None:
    """Presses Tab until the focus is there."""
    def is_there() -> bool:
        browser.press(Keys.TAB)
        return browser.script("return document.activeElement.matches(arguments[0])", selector)

    until(is_there, f"Tab to reach {selector}", 60)


def outline(browser) -> bool:
    return browser.script(
        "return getComputedStyle(document.activeElement).outlineStyle !== 'none'")
