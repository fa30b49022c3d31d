"""A board is paired by the eight letters on its screen: typed at the page, confirmed on the board."""

import pytest

from bench.pair_screen import Screen


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
    code = screen.code()
    phone.log_in(path="/claim")
    browser = phone.browser
    browser.wait("h1", "Pair a board")
    type_code(browser, code.lower().replace("-", " "))
    browser.wait("h1", "Pair in the cellar")
    assert f"fingerprint {browser.text('#fingerprint')}" in screen.shown
    browser.shot("phone-short-code")
    browser.click("#pair")
    browser.wait("[role=status]", "whether ada may claim it")
    browser.shot("phone-short-code-asked")
    screen.wait("Is that you? [y/N]")
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
    type_code(browser, screen.code())
    browser.click("#pair")
    screen.wait("Is that you? [y/N]")
    screen.type("")
    assert "said no" in phone.wait_problem("code-refused")
    browser.click("[data-problem] button", "Another code")
    browser.wait("h1", "Pair a board")


def test_a_person_who_asks_no_more(house, phone, page):
    board, screen = start(house, page, "asked no more")
    phone.log_in(path="/claim")
    browser = phone.browser
    type_code(browser, screen.code())
    browser.click("#pair")
    screen.wait("Is that you? [y/N]")
    browser.click("#main .actions button", "Cancel")
    browser.wait("h1", "Pair a board")
    screen.type("n")
    screen.wait("refused: nobody got this board")
    assert browser.text("h1", "Pair a board")


def test_a_code_that_no_board_shows(phone):
    phone.log_in(path="/claim")
    type_code(phone.browser, "BCDF-GHJK")
    assert "No board waits" in phone.browser.text("main .error", "No board")


def test_the_page_waits_as_long_as_the_authority_says(phone):
    phone.log_in(path="/claim")
    spans = phone.browser.driver.execute_async_script("""
        const done = arguments[0], spans = [], soon = window.setTimeout, real = window.fetch;
        const answers = [[200], [429, "30"], [503, "99999"], [429, "soon"], [200]];
        window.setTimeout = (then, span) => {
          const isHere = new Error().stack.includes("shortcode.js");
          if (isHere) spans.push(span);
          return soon(then, isHere ? 0 : span);
        };
        window.fetch = async (url, options) => {
          if (!String(url).includes("/claim-codes/")) return real(url, options);
          const [status, wait] = answers.shift();
          return new Response(JSON.stringify(answers.length ? { error: "wait" } : { claim: {} }),
            { status, headers: wait ? { "Retry-After": wait } : {} });
        };
        import("/console/shortcode.js")
          .then(({ askBoard }) => askBoard({ code: "BCDF-GHJK" }, new AbortController().signal))
          .then(() => done(spans), error => done(String(error)));
    """)
    assert spans == [2000, 30_000, 600_000, 2000]
