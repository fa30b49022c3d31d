"""A board is paired by the eight letters on its screen: typed at the page, confirmed on the board."""

import os
import pty
import re
import threading

import pytest

from bench.waiting import until

CODE = re.compile(r"or type ([A-Z]{4}-[A-Z]{4}) at ")


class Screen:
    """`postern-agent pair` on a terminal of its own."""

    def __init__(self, board, base: str):
        argv = [str(word) for word in board._argv("pair")]
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.execve(argv[0], argv, os.environ | {"POSTERN_CLAIM_BASE": base})
        self.shown = ""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                self.shown += os.read(self.terminal, 4096).decode(errors="replace")
            except OSError:
                os.waitpid(self.child, 0)
                return

    def wait(self, pattern: str) -> str:
        found = until(lambda: re.search(pattern, self.shown), f"{pattern} on the board's screen",
                      60, lambda: self.shown[-2000:])
        return found.group(found.lastindex or 0)

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode() + b"\n")


@pytest.fixture
def page(house) -> str:
    return f"http://127.0.0.1:{house.http_port}/claim"


def start(house, page, name):
    board = house.add_board(name, agent_env={"POSTERN_CLAIM_BASE": page}).start()
    return board, Screen(board, page)


def type_code(browser, code: str) -> None:
    browser.type("textarea", code)
    browser.click("main button[type=submit]")


def test_a_board_without_a_camera_before_it(house, phone, page):
    board, screen = start(house, page, "in the cellar")
    code = screen.wait(CODE.pattern)
    phone.log_in(path="/claim")
    browser = phone.browser
    browser.wait("h1", "Pair a board")
    type_code(browser, code.lower().replace("-", " "))
    browser.wait("h1", "Pair in the cellar")
    assert browser.text("#fingerprint") == screen.wait(r"fingerprint ([0-9A-Z-]{14})")
    browser.shot("phone-short-code")
    browser.click("#pair")
    browser.wait("[role=status]", "whether ada may claim it")
    browser.shot("phone-short-code-asked")
    screen.wait(r"Is that you\? \[y/N\]")
    screen.type("y")
    phone.wait_step("opened")
    board.wait_session("available")
    screen.wait("ada has claimed this board")
    board.write(b'{"celsius":20.5}')
    phone.wait_step("data")


def test_a_board_that_says_no(house, phone, page):
    board, screen = start(house, page, "says no")
    phone.log_in(path="/claim")
    browser = phone.browser
    type_code(browser, screen.wait(CODE.pattern))
    browser.click("#pair")
    screen.wait(r"Is that you\? \[y/N\]")
    screen.type("")
    assert "said no" in phone.wait_problem("code-refused")
    browser.click("[data-problem] button", "Another code")
    browser.wait("h1", "Pair a board")


def test_a_code_that_no_board_shows(phone):
    phone.log_in(path="/claim")
    type_code(phone.browser, "BCDF-GHJK")
    assert "No board waits" in phone.browser.text("main .error", "No board")
