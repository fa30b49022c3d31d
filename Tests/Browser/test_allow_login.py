"""A person allows or denies the login of a program, `postern login`, at the page."""

from bench.program import Program
from bench.waiting import until
from browser import PHONE
from test_passkeys import add, check, close_dialog, make_recovery_code, open_passkeys, recover
from test_passkeys import come, house  # noqa: F401, fixtures
from virtual_authenticator import VirtualAuthenticator


class WaitingLogin:
    """A `postern login` that runs until the person has decided."""

    def __init__(self, house, name: str):
        self.program = Program(
            name, [house.programs / "postern", "--profile-dir", house.folder / name, "login",
                   f"http://127.0.0.1:{house.http_port}"],
            house.folder, house._environment).start()
        lines = until(self._shown, "a code", 60, lambda: self.program.log)
        self.link = next(line for line in lines if "/#/login/" in line)
        self.code = self.link.rpartition("/")[2]

    def _shown(self) -> list[str] | None:
        lines = [line.strip() for line in self.program.log.splitlines()]
        return lines if any(line.startswith("Waiting") for line in lines) else None

    def end(self) -> int:
        until(lambda: not self.program.is_running, "`postern login` to end", 90,
              lambda: self.program.log)
        return self.program.process.returncode


def test_link_is_allowed_after_a_comparison_and_a_passkey(house, come):  # noqa: F811
    visitor = come(PHONE)
    browser = visitor.browser
    VirtualAuthenticator(browser)
    person = house.user("ines")
    visitor.log_in(person)
    open_passkeys(browser)
    add(visitor, "Phone")
    code = make_recovery_code(house, browser)
    close_dialog(browser, "Close")
    visitor.log_out()
    # It logs in, and confirms nothing.
    recover(browser, person.name, code)
    browser.wait("h1", "Your passkeys")

    login = WaitingLogin(house, "login-by-link")
    browser.go(login.link.partition(str(house.http_port))[2])
    browser.click("form.code button[type=submit]")
    assert browser.text("#shown-code") == login.code
    assert "postern on" in browser.text("#login-request")
    check(browser, "phone-allow-login")
    browser.click("#allow-login")
    browser.wait("#login-request .error", "Compare the code")
    browser.click("#same-code")
    browser.click("#allow-login")
    browser.wait("dialog", "Confirm that it is you")
    browser.click("dialog button[type=submit]", "Confirm")
    browser.wait(".empty", "Allowed")
    assert login.end() == 0, login.program.log
    assert f"as {person.name}" in login.program.log
    browser.click(".empty a", "Your sessions")
    browser.wait("article", "postern on")


def test_typed_code_is_denied_with_one_tap(house, come):  # noqa: F811
    visitor = come(PHONE)
    browser = visitor.browser
    visitor.log_in(house.user("jana"))
    browser.click("#account")
    browser.click("#allow-program")
    browser.type("#user-code", "BBBB-BBB")
    browser.click("form.code button[type=submit]")
    browser.wait("form.code .error", "Type the eight letters.")
    check(browser, "phone-login-code")
    login = WaitingLogin(house, "login-by-code")
    browser.type("#user-code", login.code.lower())
    browser.click("form.code button[type=submit]")
    assert browser.text("#shown-code") == login.code
    assert browser.find("#same-code")
    browser.click("#deny-login")
    browser.wait(".empty", "Denied")
    assert login.end() == 77
    # Nobody finds it again.
    browser.go("/#/boards")
    browser.go(login.link.partition(str(house.http_port))[2])
    browser.click("form.code button[type=submit]")
    browser.wait("form.code .error", "No program waits under this code")
