"""The page on a home screen: it opens while the authority is away, and is new when it is not."""

import json
import shutil

import pytest
from selenium.common.exceptions import WebDriverException

from bench.evidence import Evidence
from bench.house import House
from bench.waiting import until
from test_quality import CONSOLE

MEMBERS = {"installationId", "name", "status", "statusSince", "sessionAvailable", "sessionState",
           "sessionEnd", "lastDataMs", "readings", "asOfMs"}


@pytest.fixture(scope="module")
def house(tmp_path_factory, programs):
    """A house whose authority may go away."""
    house = House(tmp_path_factory.mktemp("house"), Evidence(), programs)
    yield house
    house.close()


def kept(browser) -> dict[str, str]:
    """All that the page may keep in the browser, by its address."""
    return browser.driver.execute_async_script("""
        const done = arguments[0], found = {};
        (async () => {
          for (const name of await caches.keys()) {
            const cache = await caches.open(name);
            for (const { url } of await cache.keys()) {
              found[url] = await (await cache.match(url)).text();
            }
          }
          return { ...found, ...localStorage, ...sessionStorage };
        })().then(done, error => done({ error: String(error) }));
    """)


def known(browser) -> str:
    return kept(browser).get(f"{browser.base}/console/known", "")


def versions(browser) -> list[str]:
    return browser.driver.execute_async_script(
        "caches.keys().then(all => arguments[0](all.filter(name => name.startsWith('page-'))))")


def wait_kept(browser) -> None:
    until(lambda: f"{browser.base}/console/app.js" in kept(browser), "the page to be kept", 60)


def test_last_known_boards_are_shown_until_the_logout(house, phone):
    house.live("shed")
    board = house.live("barn")
    board.write(b'{"celsius":21.5}')
    browser = phone.browser
    phone.log_in()
    phone.open_board(board)
    phone.wait_plotted("Reading.celsius", "21.5")
    wait_kept(browser)
    until(lambda: '"number":21.5' in known(browser), "the reading to be kept", 60)
    # A page that begins at one board, as from an alert, keeps the others.
    board.write(b'{"celsius":22.5}')
    browser.open(f"/#/boards/{board.iid}")
    until(lambda: '"number":22.5' in known(browser), "the newer reading to be kept", 60)
    assert "shed" in known(browser)
    cookies = [cookie["value"] for cookie in browser.driver.get_cookies()]
    everything = "".join(kept(browser).values())
    assert cookies and not [value for value in cookies if value in everything]
    assert all(set(one) == MEMBERS for one in json.loads(known(browser))["boards"])

    house.server.stop()
    browser.open("/#/boards")
    assert "As of " in browser.text("#as-of", "the authority is away")
    assert browser.text(".live") == "Away"
    shown = browser.text("article", "barn")
    assert "Was: Online" in shown and "22.5" in shown
    assert browser.accessibility() == [] and browser.overflow() == []
    browser.shot("phone-away")
    # A claim is for the authority alone: its page is not kept.
    with pytest.raises(WebDriverException, match="ERR_CONNECTION_REFUSED"):
        browser.open("/claim#secret")
    browser.open()
    browser.wait("#as-of", "the authority is away")
    browser.click("#forget")
    browser.wait("[role=alert]", "cannot be reached")
    assert not known(browser)

    house.start()
    browser.click("[role=alert] button", "Try again")
    phone.wait_live()
    until(lambda: "barn" in known(browser), "the boards to be kept again", 60)
    phone.log_out()
    until(lambda: not known(browser), "the last known boards to be deleted", 60)
    assert f"{browser.base}/console/app.js" in kept(browser)
    house.server.stop()
    browser.open()
    browser.wait("[role=alert]", "cannot be reached")
    assert "barn" not in browser.text("body")
    house.start()
    browser.click("[role=alert] button", "Try again")
    browser.wait("#username")


def test_an_update_is_taken_over_at_the_next_load(house, desktop, tmp_path):
    browser = desktop.browser
    desktop.log_in()
    wait_kept(browser)
    before = versions(browser)
    folder = shutil.copytree(CONSOLE, tmp_path / "console")
    page = (folder / "index.html").read_text()
    (folder / "index.html").write_text(page.replace("<title>", '<meta name="new">\n<title>'))
    house.server.stop()
    house.server.env["POSTERN_HTTP_CONSOLE"] = str(folder)
    house.start()
    browser.open()
    assert browser.driver.find_elements("css selector", "meta[name=new]")
    until(lambda: len(versions(browser)) == 1 and versions(browser) != before,
          "the new files to replace the old ones", 60)
    wait_kept(browser)
    assert 'name="new"' in kept(browser)[f"{browser.base}/"]
