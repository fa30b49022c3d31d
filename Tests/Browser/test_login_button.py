"""The page's button for a login provider, with a real one on another site."""

import secrets

import pytest
from bench.evidence import Evidence
from bench.house import House
from bench.openid_provider import OpenIDProvider
from browser import PHONE

PASSWORD = secrets.token_urlsafe(12)


@pytest.fixture(scope="module")
def house(tmp_path_factory, programs):
    """Its provider knows one person. The authority does not know them yet."""
    folder = tmp_path_factory.mktemp("button")
    (folder / "house").mkdir()
    secret_file = folder / "client-secret"
    secret_file.touch(0o600)
    secret_file.write_text(secrets.token_urlsafe(24))
    provider = OpenIDProvider()
    house = House(folder / "house", Evidence(), programs, provider.settings(
        "corp", secret_file, 'title = "The Company"', "sign_up = true"))
    try:
        callback = f"http://127.0.0.1:{house.http_port}/postern/v1/console/providers/corp/callback"
        provider.start(folder, callback, secret_file, {"anna": PASSWORD})
        yield house
    finally:
        provider.close()
        house.close()


def log_in_there(browser) -> None:
    browser.type("input[name=username]", "anna")
    browser.type("input[name=password]", PASSWORD)
    browser.click("button[type=submit]", "Log in there")


def test_a_button_logs_in_cancels_and_confirms(house, visit):
    browser = visit(PHONE).browser
    browser.open("/#/sessions")
    browser.wait("[data-provider=corp]", "Log in with The Company")
    browser.shot("phone-login-button")
    assert browser.accessibility() == [] and browser.overflow() == []
    browser.click("[data-provider=corp]")
    log_in_there(browser)
    browser.click("input[value=Cancel]")
    browser.wait("#login-problem", "The login was cancelled there")
    browser.shot("phone-login-cancelled")

    # The provider knows the browser now, and asks only whether she wants it.
    browser.click("[data-provider=corp]")
    browser.click("input[name=allow]")
    # In a session with the browser's name.
    browser.wait("#account")
    browser.go("/#/sessions")
    browser.wait("article", "Chrome on")

    # As it is when the provider asked her nothing: there she logs in again.
    browser.pretend(f"/users/{browser.text('#account')}/recovery-code", 400, {
        "code": 142, "name": "confirmation-needed", "error": "confirm"})
    browser.open("/#/passkeys")
    browser.click("#make-recovery-code")
    browser.click("dialog button[type=submit]", "Make")
    browser.click("dialog [data-provider=corp]", "Log in again with The Company")
    log_in_there(browser)
    browser.click("input[name=allow]")
    browser.wait("#account")


def test_a_claim_is_still_there_after_the_login(house, visit):
    board = house.add_board("barn")
    visitor = visit(PHONE)
    browser = visitor.browser
    browser.open(visitor.claim_address(board))
    browser.wait("h1", "Pair barn")
    browser.click("[data-provider=corp]")
    log_in_there(browser)
    browser.click("input[name=allow]")
    # She may not claim yet, which the page says about this very board.
    browser.wait("[data-problem=may-not-claim]")
    assert browser.text("h1") == "Pair barn"
    assert browser.script("return sessionStorage.length") == 0
    assert "#" not in browser.address
