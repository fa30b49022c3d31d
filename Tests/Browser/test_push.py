"""Alerts on this phone: the switch, and the service worker. Chromium's own push service is
Google's, so the page gets a subscription of the test's, and the worker the message by CDP."""

import json
import time

import pytest
from selenium.common.exceptions import WebDriverException

from bench.evidence import Evidence
from bench.house import House
from bench.push_server import PushBrowser, PushServer
from bench.waiting import until


@pytest.fixture(scope="module")
def server():
    server = PushServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def house(tmp_path_factory, programs, server):
    """A house where a board is offline after ten seconds, and that sends to phones."""
    house = House(tmp_path_factory.mktemp("house"), Evidence(), programs,
                  'heartbeat = "2s"\nspread = "0s"\n[alerts]\noffline_after = "10s"\n'
                  f'push = true\npush_services = ["{server.origin}"]\n')
    yield house
    house.close()


def lend(browser, own: PushBrowser) -> None:
    """Gives each page this subscription, once it asks for one."""
    browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": f"""{{
        let present = null;
        const own = {{ ...{json.dumps(own.subscription)},
          toJSON() {{ return {{ endpoint: own.endpoint, keys: own.keys }}; }},
          async unsubscribe() {{ present = null; return true; }} }};
        PushManager.prototype.getSubscription = async () => present;
        PushManager.prototype.subscribe = async options => {{
          window.askedFor = options;
          return (present = own);
        }};
    }}"""})


def shown(browser) -> list[list[str]]:
    """The notifications of the worker."""
    return browser.driver.execute_async_script("""
        const done = arguments[0];
        navigator.serviceWorker.ready.then(it => it.getNotifications()).then(
          all => done(all.map(one => [one.title, one.body, one.data])));
    """)


def deliver(browser, said: dict) -> None:
    """As a push service does, which repeats what was not taken: a busy browser drops a message, and
    a first install that failed leaves the worker another number."""
    for number in "0123":
        try:
            browser.driver.execute_cdp_cmd("ServiceWorker.deliverPushMessage", {
                "origin": browser.base + "/", "registrationId": number,
                "data": json.dumps(said)})
        except WebDriverException:
            continue


def switch(browser, isOn: bool) -> None:
    browser.click("#account")
    browser.click("label", "Alerts on this phone")
    until(lambda: browser.script("const box = document.querySelector('#push');"
                                 "return !box.disabled && box.checked") is isOn, "the switch", 60)
    assert browser.accessibility() == []
    browser.shot(f"phone-push-{'on' if isOn else 'off'}")
    browser.press("\ue00c")  # Escape
    browser.wait_gone("dialog")


def endpoint(browser) -> str | None:
    """Where the authority sends this login's alerts."""
    return browser.driver.execute_async_script("""
        const done = arguments[0];
        import("/console/api.js").then(api => api.get("/push")).then(it => done(it.endpoint));
    """)


def test_an_alert_is_shown_on_this_phone(house, phone, server):
    own = PushBrowser(server, "/phone")
    browser = phone.browser
    lend(browser, own)
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", {
        "origin": browser.base, "permissions": ["notifications"]})
    board = house.live("barn")
    phone.log_in()
    browser.driver.execute_async_script(
        "navigator.serviceWorker.ready.then(() => arguments[0]())")
    switch(browser, True)
    assert endpoint(browser) == own.subscription["endpoint"]
    asked = browser.script("return window.askedFor")
    assert asked["userVisibleOnly"] is True and len(asked["applicationServerKey"]) == 87
    board.cable.pull()
    said = until(lambda: [m for m in map(own.read, (b for _, b in server.of("/phone")))
                          if "barn is offline" in m["body"]], "the alert", 60)[0]
    board.cable.plug()
    browser.driver.execute_cdp_cmd("ServiceWorker.enable", {})

    def is_shown() -> bool:
        deliver(browser, said)
        time.sleep(1)
        return [said["title"], said["body"], f"#/boards/{board.iid}"] in shown(browser)

    until(is_shown, "the notification", 120)
    switch(browser, False)
    assert endpoint(browser) is None


def test_no_switch_where_nothing_is_sent(house, phone):
    browser = phone.browser
    browser.pretend("/push", 200, {"key": None, "endpoint": None})
    phone.log_in()
    browser.click("#account")
    browser.wait("#own-passkeys")
    assert browser.find("label", "Alerts on this phone") is None
