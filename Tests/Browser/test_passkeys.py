"""Passkeys on the page, with chromium's virtual authenticator: added, used, refused, removed."""

from pathlib import Path

import pytest
from bench.cable import Cable
from bench.evidence import Evidence
from bench.house import House
from bench.tls_house import TLSHouse
from browser import DESKTOP, PHONE, SCHEMES, Browser
from virtual_authenticator import VirtualAuthenticator

WIDTHS = (320, 390, 1280)
TAB, ENTER = "\ue004", "\ue007"


class NamedHouse(House):
    """Its authority is known by a name; an address has no passkeys."""

    def _write_config(self, settings: str, http: str) -> Path:
        config = super()._write_config(settings, http)
        path = config / "authority.toml"
        path.write_text(path.read_text().replace(
            'public_url = "http://127.0.0.1', 'public_url = "http://localhost'))
        return config


@pytest.fixture(scope="module")
def house(tmp_path_factory, programs):
    house = NamedHouse(tmp_path_factory.mktemp("house"), Evidence(), programs)
    yield house
    house.close()


@pytest.fixture
def come(house, visit):
    """Makes visitors who know the authority by its name."""
    def make(size: tuple[int, int] = PHONE):
        visitor = visit(size)
        visitor.browser.base = f"http://localhost:{house.http_port}"
        return visitor

    return make


def open_passkeys(browser) -> None:
    browser.click("#account")
    browser.click("#own-passkeys")
    browser.wait("h1", "Your passkeys")
    browser.wait("#make-recovery-code")


def add(visitor, name: str) -> None:
    visitor.browser.click("#add-passkey")
    visitor.browser.type("dialog input[name=passkey]", name)
    visitor.confirm("Add")
    visitor.browser.wait("article", name)


def log_in_by_passkey(browser) -> None:
    browser.click("#passkey-login")
    browser.wait_gone(".login")


def make_recovery_code(house, browser) -> str:
    browser.click("#make-recovery-code")
    browser.click("dialog button[type=submit]", "Make")
    return shown_code(house, browser)


def shown_code(house, browser) -> str:
    """The recovery code, which the page shows once."""
    browser.wait("#new-recovery-code")
    code = browser.script("return document.getElementById('new-recovery-code').value")
    house.evidence.add_secret("a recovery code", code)
    return code


def close_dialog(browser, words: str) -> None:
    browser.click("dialog button[type=button]", words)
    browser.wait_gone("dialog")


def recover(browser, name: str, code: str) -> None:
    browser.click("summary", "Use a recovery code")
    browser.type("#recovery-name", name)
    browser.type("#recovery-code", code)
    browser.click("button[type=submit]", "Log in with the code")


def check(browser, name: str) -> None:
    """A picture of each scheme; what axe-core finds, and what does not fit."""
    size, faults = browser.size, []
    for scheme in SCHEMES:
        browser.scheme(scheme)
        browser.shot(f"{name.replace('-', f'-{scheme}-', 1)}")
        faults += [f"{scheme}: {fault}" for fault in browser.accessibility()]
        for width in WIDTHS:
            browser.resize((width, size[1]))
            faults += browser.overflow() + browser.small_targets()
        browser.resize(size)
    browser.scheme("light")
    assert faults == [], name


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_passkey_is_added_logs_in_is_renamed_and_removed(house, come, size, request):
    shown = request.node.callspec.id
    person = house.user(f"anna-{shown}")
    visitor = come(size)
    browser = visitor.browser
    authenticator = VirtualAuthenticator(browser)
    browser.open()
    browser.wait("#passkey-login")
    browser.click("summary", "Use a recovery code")
    check(browser, f"{shown}-login-ways")
    visitor.log_in(person)
    open_passkeys(browser)
    assert browser.focused.text == "Your passkeys"
    browser.wait(".empty", "No passkeys yet")
    check(browser, f"{shown}-passkeys-none")
    browser.click("#add-passkey")
    browser.click("dialog button[type=submit]", "Add")
    browser.wait("article", "Chrome on")
    assert len(authenticator.credentials) == 1
    # One device has one passkey of a person.
    browser.click("#add-passkey")
    check(browser, f"{shown}-passkey-add")
    browser.click("dialog button[type=submit]", "Add")
    browser.wait("dialog .error", "This device already has a passkey of yours.")
    close_dialog(browser, "Cancel")
    assert "Last used\nnever" in browser.text("article")

    visitor.log_out()
    log_in_by_passkey(browser)
    open_passkeys(browser)
    assert "never" not in browser.wait("article", "Last used").text
    browser.click("article button", "Rename")
    browser.type("dialog input[name=passkey]", "By my side")
    visitor.confirm("Rename")
    browser.wait("[data-passkey='By my side']")
    check(browser, f"{shown}-passkeys")
    browser.click("article button", "Remove")
    visitor.confirm("Remove")
    browser.wait(".empty", "No passkeys yet")

    visitor.log_out()
    browser.click("#passkey-login")
    browser.wait(".login .error", "The passkey is not accepted: no user here has it.")
    browser.shot(f"{shown}-passkey-unknown")


def test_login_needs_nothing_but_the_keyboard(house, come):
    visitor = come(DESKTOP)
    browser = visitor.browser
    authenticator = VirtualAuthenticator(browser)
    visitor.log_in(house.user("berta"))
    open_passkeys(browser)
    add(visitor, "Key")
    visitor.log_out()
    assert browser.focused.get_attribute("id") == "username"
    for _ in range(8):
        if browser.focused.get_attribute("id") == "passkey-login":
            break
        browser.press(TAB)
    authenticator.verifies(False)
    browser.press(ENTER)
    browser.wait(".login .error", "No passkey was used, and nothing was changed.")
    # The focus is still there.
    authenticator.verifies(True)
    browser.press(ENTER)
    browser.wait_gone(".login")


def test_what_is_cancelled_changes_nothing(house, come):
    visitor = come()
    browser = visitor.browser
    authenticator = VirtualAuthenticator(browser)
    visitor.log_in(house.user("carla"))
    open_passkeys(browser)
    authenticator.verifies(False)
    browser.click("#add-passkey")
    browser.click("dialog button[type=submit]", "Add")
    browser.wait("dialog .error", "No passkey was used, and nothing was changed.")
    browser.shot("phone-passkey-cancelled")
    assert authenticator.credentials == []
    authenticator.verifies(True)
    visitor.confirm("Add")
    browser.wait("article", "Chrome on")


@pytest.mark.parametrize("way", ["passkey", "password"])
def test_release_is_confirmed_first(house, come, way):
    """A recovery code logs in, and confirms nothing."""
    person = house.user(f"fred-by-{way}", "--claim")
    board = house.live(f"barn by {way}", owner=person)
    visitor = come()
    browser = visitor.browser
    VirtualAuthenticator(browser)
    visitor.log_in(person)
    open_passkeys(browser)
    if way == "passkey":
        add(visitor, "For the barn")
    code = make_recovery_code(house, browser)
    check(browser, f"phone-recovery-code-{way}")
    close_dialog(browser, "Close")
    visitor.log_out()
    recover(browser, person.name, code)
    # There a new passkey can be added.
    browser.wait("h1", "Your passkeys")

    visitor.open_board(board)
    visitor.end("#release")
    browser.click("dialog button[type=submit]", "Release")
    browser.wait("dialog", "Confirm that it is you")
    check(browser, f"phone-confirm-{way}")
    browser.click("dialog:last-of-type button[type=button]", "Cancel")
    browser.wait("dialog .error", "You have not confirmed it, so nothing was changed.")
    browser.click("dialog button[type=submit]", "Release")
    browser.wait("dialog", "Confirm that it is you")
    if way == "passkey":
        browser.click("summary", "Use your password instead")
    browser.type("input[name=confirm-password]", "wrong")
    browser.click("dialog:last-of-type button[type=submit]", "Confirm")
    browser.wait("dialog:last-of-type .error", "The password is wrong.")
    if way == "passkey":
        browser.click("summary", "Use your password instead")
    else:
        browser.type("input[name=confirm-password]", person.password_file.read_text())
    browser.click("dialog:last-of-type button[type=submit]", "Confirm")
    browser.wait("h1", "Boards")
    browser.wait(".empty", "No board is paired yet")

    visitor.log_out()
    recover(browser, person.name, code)
    browser.wait(".login .error", "The name or the code is wrong, or the code was used before.")


def test_copied_passkey_is_refused(house, come):
    """The copy counts from where it was made; the authority has heard more since."""
    visitor = come()
    browser = visitor.browser
    authenticator = VirtualAuthenticator(browser)
    visitor.log_in(house.user("dora"))
    open_passkeys(browser)
    add(visitor, "Original")
    copy = authenticator.credentials[0]
    for _ in range(3):
        visitor.log_out()
        log_in_by_passkey(browser)
    visitor.log_out()
    authenticator.remove()
    VirtualAuthenticator(browser).add(copy)
    browser.click("#passkey-login")
    browser.wait(".login .error", "there may be a copy of it")
    browser.shot("phone-passkey-copied")
    assert browser.find("#account") is None


def test_other_origin_says_where_passkeys_work_and_has_none(house, come):
    """The same name at another port: the browser would sign, and the authority refuses."""
    visitor = come()
    browser = visitor.browser
    VirtualAuthenticator(browser)
    visitor.log_in(house.user("emma"))
    open_passkeys(browser)
    add(visitor, "Here")
    visitor.log_out()
    cable = Cable(house.http_port)
    try:
        home, browser.base = browser.base, f"http://localhost:{cable.port}"
        browser.open()
        notice = browser.wait("#no-passkeys", "you opened this page at another one")
        assert home in notice.text
        assert browser.find("#passkey-login") is None
        check(browser, "phone-login-elsewhere")
        refused = browser.driver.execute_async_script("""
            const done = arguments[0];
            Promise.all([import("/console/passkey.js"), import("/console/api.js")])
              .then(async ([{ sign }, { logIn }]) => logIn({ passkey: await sign("login") }))
              .then(() => done("let in"), error => done(error.name));
        """)
        assert refused == "passkey-refused"
    finally:
        cable.pull()


def test_browser_without_passkeys_says_so(house, come):
    visitor = come()
    browser = visitor.browser
    browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {
        "source": "delete window.PublicKeyCredential"})
    browser.open()
    browser.wait("#username")
    assert browser.find("#passkey-login") is None
    visitor.log_in(house.user("greta"))
    open_passkeys(browser)
    browser.wait("#no-passkeys", "This browser offers none.")
    assert browser.find("#add-passkey") is None


def test_certificate_that_is_not_trusted_has_no_passkeys(tmp_path, programs):
    """No virtual authenticator here: with one, chromium trusts any certificate."""
    house = TLSHouse(tmp_path, Evidence(), programs,
                     {"POSTERN_HTTP_PUBLIC_URL": "https://postern.test"})
    browser = Browser(tmp_path / "profile", PHONE, "--host-resolver-rules="
                      f"MAP postern.test:443 127.0.0.1:{house.http_port}")
    try:
        browser.driver.get("https://postern.test/")
        # Chromium's own page, which warns first.
        browser.click("#details-button")
        browser.click("#proceed-link")
        browser.click("#passkey-login")
        browser.wait(".login .error", "does not trust the server's certificate")
        browser.shot("phone-passkey-untrusted")
    finally:
        browser.close()
        house.close()


def test_without_passwords_a_passkey_is_the_way(tmp_path, visit, programs):
    folder = tmp_path / "house"
    folder.mkdir()
    house = NamedHouse(folder, Evidence(), programs)
    try:
        visitor = visit()
        browser = visitor.browser
        browser.base = f"http://localhost:{house.http_port}"
        VirtualAuthenticator(browser)
        visitor.house = house
        visitor.log_in()
        open_passkeys(browser)
        add(visitor, "The only way")
        visitor.log_out()
        config = house.config / "authority.toml"
        config.write_text(config.read_text() + "[login]\npasswords = false\n")
        house.server.stop()
        house.start()
        browser.open()
        browser.wait("#passkey-login")
        assert browser.find("#username") is None and browser.find("#password") is None
        assert browser.focused.get_attribute("id") == "passkey-login"
        check(browser, "phone-login-without-passwords")
        log_in_by_passkey(browser)
        browser.click("#account")
        browser.wait("dialog", "Your passkeys")
        assert "Change your password" not in browser.text("dialog")
        close_dialog(browser, "Cancel")

        # A new user comes by a recovery code, and then by a passkey.
        browser.go("/#/users")
        browser.click("#add-user")
        browser.type("dialog input[name=username]", "hanna")
        assert browser.find("dialog input[type=password]") is None
        browser.click("dialog button[type=submit]", "Add")
        browser.click("dialog button[type=submit]", "Make")
        code = shown_code(house, browser)
        close_dialog(browser, "Close")
        visitor.log_out()
        recover(browser, "hanna", code)
        browser.wait("h1", "Your passkeys")
        add(visitor, "Hanna's own")
    finally:
        house.close()
