"""The page in the other languages: German and Spanish, on a phone."""

import pytest
from browser import SCHEMES
from test_texts import keys

SIZE = (390, 844)


@pytest.fixture(scope="module")
def board(house):
    board = house.live("barn")
    board.write(b'{"celsius":12345.5}')
    return board


def english_left(browser, language: str) -> list[str]:
    """The English texts that are seen, and that this language has another text for."""
    def known(of: str) -> set[str]:
        return {text for one in keys(of).values() for text in ([one] if isinstance(one, str) else one)}

    lines = {line.strip() for line in browser.text("body").split("\n")}
    return [text for text in known("en") - known(language) if len(text) > 3 and text in lines]


def screens(visitor, board, said: dict):
    """Each screen, once it is there, by its name."""
    browser = visitor.browser
    browser.open()
    browser.wait(".login h1", said["act.logIn"])
    browser.click("summary")
    yield "login"
    person = visitor.house.admin
    browser.type("#username", person.name)
    browser.type("#password", person.password_file.read_text())
    browser.click("button.primary[type=submit]", said["act.logIn"])
    browser.wait("article.board", board.name)
    browser.type("#search", board.name)
    browser.wait(".row .lead", said["boards.found"]["one"].format(n=1, online=1))
    yield "boards"
    visitor.open_board(board)
    # The number as the language writes it.
    visitor.wait_plotted("Reading.celsius", "12.345,5")
    browser.click(".explain summary")
    browser.click("#ends > summary")
    yield "board"
    browser.click("#release")
    browser.wait("dialog h2", said["acts.release"][0].format(name=board.name))
    yield "dialog"
    for area in ("sessions", "consumers", "users", "audit", "passkeys"):
        browser.open(f"/#/{area}")
        browser.wait("main h1")
        browser.wait_gone(".loading")
        yield area
    browser.open("/claim")
    browser.wait("h1", said["act.pair"])
    browser.wait("textarea")
    yield "claim-intake"
    browser.open(visitor.claim_address(board, "--new"))
    browser.wait("#pair", said["claim.pair"])
    yield "claim"


@pytest.mark.parametrize("tag", ["de-DE", "es-ES"])
def test_a_phone_in_this_language_sees_it_everywhere(house, visit, board, tag):
    visitor, language = visit(SIZE, language=tag), tag[:2]
    browser, faults = visitor.browser, []
    for name in screens(visitor, board, keys(language)):
        assert browser.script("return document.documentElement.lang") == language
        faults += [f"{name}: {text}" for text in english_left(browser, language)]
        for scheme in SCHEMES:
            browser.scheme(scheme)
            browser.shot(f"{language}-{scheme}-{name}", whole=name != "dialog")
            faults += [f"{name}, {scheme}: {fault}" for fault in browser.accessibility()]
        for width in (320, SIZE[0]):
            browser.resize((width, SIZE[1]))
            faults += [f"{name}, {width} px: {wide}" for wide in browser.overflow()]
            faults += [f"{name}, {width} px: {small}" for small in browser.small_targets()]
    assert faults == []


def test_only_one_language_is_loaded(house, visit, board):
    browser = visit(SIZE, language="de-AT").browser
    browser.open()
    browser.wait("#username")
    urls = browser.script("return performance.getEntriesByType('resource').map(e => e.name)")
    files = [url.rpartition("/")[2] for url in urls]
    assert [file for file in files if len(file) == 5 and file.endswith(".js")] == ["de.js"]


def test_a_language_without_a_file_is_english(house, visit, board):
    browser = visit(SIZE, language="fr-FR").browser
    browser.open()
    browser.wait(".login h1", "Log in")
    assert browser.script("return document.documentElement.lang") == "en"
