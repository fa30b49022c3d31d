"""What holds on every page: it fits, it can be read and reached, and it is small."""

import re
from pathlib import Path

import pytest
from browser import DESKTOP, PHONE, SCHEMES
from test_texts import LANGUAGES

CONSOLE = Path(__file__).resolve().parents[2] / "Provisioning" / "console"
WIDTHS = (320, 390, 1280)


@pytest.fixture(scope="module")
def board(house):
    board = house.live("a board with quite a long name, on the northern barn's roof")
    for celsius in range(3):
        board.write(b'{"celsius":%d}' % celsius)
    board.write(b"x" * 300)
    return board


def pages(visitor, board):
    """Each page of the console, once it stands, as name and nothing else to do."""
    browser = visitor.browser
    browser.open()
    browser.wait("#username")
    yield "login"
    visitor.fill_login()
    browser.wait("article.board", board.name)
    yield "boards"
    visitor.open_board(board)
    visitor.wait_plotted("Reading.celsius", "2")
    browser.click(".explain summary")
    yield "board"
    browser.go("/#/sessions")
    browser.wait("article.this")
    yield "sessions"
    browser.go("/#/users")
    browser.wait("[data-user]")
    yield "users"
    browser.go("/#/audit")
    browser.wait(".log li")
    browser.click(".filter summary")
    yield "audit"
    # This authority has an address and no name.
    browser.go("/#/passkeys")
    browser.wait("#no-passkeys", "only an address")
    browser.wait("#make-recovery-code")
    yield "passkeys"
    browser.click("#account")
    browser.wait("dialog")
    yield "account"
    browser.open("/claim")
    browser.wait("textarea")
    yield "claim-intake"
    browser.open(visitor.claim_address(board, "--new"))
    browser.wait("#pair")
    browser.click(".option", "Custom rules")
    yield "claim"


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_pages_pass_axe_and_fit(house, visit, board, size, request):
    visitor = visit(size)
    browser, faults = visitor.browser, []
    for page in pages(visitor, board):
        for scheme in SCHEMES:
            browser.scheme(scheme)
            browser.shot(f"{request.node.callspec.id}-{scheme}-{page}")
            faults += [f"{page}, {scheme}: {fault}" for fault in browser.accessibility()]
            for width in WIDTHS:
                browser.resize((width, size[1]))
                faults += [f"{page}, {width} px, {scheme}: {wide}" for wide in browser.overflow()]
                faults += [f"{page}, {width} px: {small}" for small in browser.small_targets()]
            browser.resize(size)
    assert faults == []


def test_headings_stand_in_order_and_one_page_has_one_title(house, phone, board):
    for page in pages(phone, board):
        levels = [int(level) for level in phone.browser.script(
            "return [...document.querySelectorAll('main :is(h1, h2, h3, h4)')]"
            ".filter(e => e.checkVisibility()).map(e => e.tagName[1])")]
        assert levels and levels[0] == 1 and levels.count(1) == 1, page
        assert all(b - a <= 1 for a, b in zip(levels, levels[1:])), f"{page}: {levels}"


def test_current_page_is_told_and_focus_follows(house, desktop, board):
    desktop.log_in()
    browser = desktop.browser
    for area, title in (("sessions", "Sessions"), ("users", "Users"), ("audit", "Audit log"),
                        ("boards", "Boards")):
        browser.click(f"nav [data-area={area}]")
        browser.wait("h1", title)
        assert browser.focused.text == title
        current = browser.script(
            "return [...document.querySelectorAll('nav [aria-current=page]')]"
            ".map(a => a.dataset.area)")
        assert current == [area]
        assert browser.driver.title.startswith(title)


def test_dialog_returns_the_focus(house, desktop, board):
    desktop.log_in()
    browser = desktop.browser
    browser.click("#account")
    browser.wait("dialog")
    browser.press("\ue00c")  # Escape
    browser.wait_gone("dialog")
    assert browser.focused.get_attribute("id") == "account"


def test_nothing_comes_from_elsewhere(house, phone, board):
    phone.log_in()
    phone.open_board(board)
    urls = phone.browser.script(
        "return performance.getEntriesByType('resource').map(e => e.name)")
    assert urls and all(url.startswith(phone.browser.base) for url in urls)


def loaded(page: str) -> set[str]:
    """The files that a browser loads to show a page, without the texts and without the pages that
    it loads when a person goes there. The PNG icons are for the home screen: a browser loads none
    of them to show it."""
    files = {page, "style.css", "console.webmanifest", "icon.svg", "worker.js"}
    waiting = re.findall(r'src="console/([\w.]+)"', (CONSOLE / page).read_text())
    while waiting:
        name = waiting.pop()
        if name not in files:
            files.add(name)
            waiting += re.findall(r'^(?:import|\}).*"\./([\w.]+)";$', (CONSOLE / name).read_text(),
                                  re.MULTILINE)
    return files


@pytest.mark.parametrize("page", ["index.html", "claim.html"])
def test_page_is_small(page):
    """In one language: the largest counts."""
    sizes = {name: (CONSOLE / name).stat().st_size for name in loaded(page)}
    texts = max((CONSOLE / f"{language}.js").stat().st_size for language in LANGUAGES)
    assert sum(sizes.values()) + texts < 220_000, sizes


def test_no_file_of_the_page_is_forgotten():
    later = [name for path in CONSOLE.glob("*.js")
             for name in re.findall(r'import\("\./(\w+\.js)"\)', path.read_text())]
    known = {*loaded("index.html"), *loaded("claim.html"), *later,
             *(f"{one}.js" for one in LANGUAGES)}
    assert {path.name for path in CONSOLE.iterdir() if path.suffix != ".png"} == known


def test_files_hold_no_markup_in_strings():
    """The policy forbids it; this names the file before a browser does."""
    for path in CONSOLE.glob("*.js"):
        text = path.read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                     "new Function", "javascript:", "localStorage"):
            assert word not in text, f"{path.name}: {word}"
    for name in ("index.html", "claim.html"):
        text = (CONSOLE / name).read_text()
        assert "style=" not in text and "<style" not in text and " on" + "click" not in text
