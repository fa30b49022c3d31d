"""A board's readings: ranges, zoom, the crosshair, gaps, late data, texts, and where none are kept.

The store's answers are made up in the browser, so that a month of data is there at once."""

import json

import pytest
from bench.waiting import until
from browser import DESKTOP, PHONE, SCHEMES
from selenium.webdriver.common.action_chains import ActionChains

HOUR = 3600_000
PLOT = "[data-series='Reading.celsius']"
SVG = f"{PLOT} svg"

# `gap` and `late` are hours before now, from and to. One reading a minute.
ANSWERS = """
const real = window.fetch, opened = Date.now(), options = %s;
window.asked = [];
const answer = body => new Response(JSON.stringify(body),
  { headers: { "Content-Type": "application/json" } });
const widths = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600]
  .map(s => 1000 * s);
const inside = (at, hours) => hours && at > opened - hours[0] * 3.6e6
  && at < opened - hours[1] * 3.6e6;
function series(query) {
  const [since, until] = ["since", "until"].map(n => Number(query.get(n)));
  const step = widths.find(s => s >= (until - since) / (query.get("points") - 1));
  const all = { start: Math.floor(since / step) * step, step, min: [], max: [], mean: [],
    count: [], late: [] };
  for (let at = all.start; at < until; at += step) {
    const holds = step >= 60000 || Math.floor((at + step - 1) / 6e4) !== Math.floor((at - 1) / 6e4);
    const isThere = holds && at + step <= opened && !inside(at, options.gap);
    const value = 20 + 5 * Math.sin(at / 1.3e7) + Math.sin(at / 9e5), wide = step / 9e5;
    if (inside(at, options.late) && isThere) all.late.push(all.count.length);
    all.count.push(isThere ? Math.ceil(step / 60000) : 0);
    for (const [name, n] of [["min", -wide], ["max", wide], ["mean", 0]]) {
      all[name].push(isThere ? value + n : null);
    }
  }
  return all;
}
window.fetch = (url, more) => {
  const { pathname, searchParams } = new URL(url, location.href);
  if (pathname.endsWith("/newest")) {
    const at = opened - 5000;
    return Promise.resolve(answer({ kept: options.kept, results: options.newest.map(v =>
      ({ class: "Reading", objectId: null, writtenMs: at, receivedMs: at, late: false, ...v })) }));
  }
  if (pathname.endsWith("/series")) {
    window.asked.push(Object.fromEntries(searchParams));
    return Promise.resolve(answer(series(searchParams)));
  }
  const found = real(url, more);
  if (!options.units || !/\\/boards\\/[^/]+$/.test(pathname)) return found;
  return found.then(async r => answer({ ...await r.json(), units: options.units }));
};
"""
TEXTS = [{"field": "door.state", "text": "open"}, {"field": "log", "text": "line one\n" * 12}]


@pytest.fixture(scope="module")
def board(house):
    return house.live("greenhouse")


@pytest.fixture
def shows(visit, board):
    """Opens the board's page with answers of a store."""
    def open_page(size=PHONE, **options):
        options = {"kept": True, "newest": [{"field": "celsius", "number": 21.5}, *TEXTS],
                   "units": {"Reading": {"celsius": "°C"}}, **options}
        visitor = visit(size)
        visitor.browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {
            "source": f"{{{ANSWERS % json.dumps(options)}}}"})
        visitor.log_in()
        visitor.open_board(board)
        visitor.wait_live()
        return visitor.browser
    return open_page


def span(browser) -> str:
    return browser.text(".view .span")


def asked(browser) -> list[dict]:
    return browser.script("return window.asked")


def path(browser, name: str) -> str:
    return browser.script("return document.querySelector(arguments[0])?.getAttribute('d') || ''",
                          f"{PLOT} .{name}")


def wait_drawn(browser) -> None:
    until(lambda: path(browser, "line"), "a line to be drawn")


def labels(browser) -> list[str]:
    return browser.script(
        "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)",
        f"{PLOT} .labels text")


def at(browser, part: float) -> tuple[int, int]:
    """A point within the plot, from the middle of its element, and the plot's width."""
    browser.script("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", SVG)
    width = browser.script("return document.querySelector(arguments[0]).clientWidth", SVG)
    return round(width * (part - 0.5)), width


def pointer(browser, *parts: float, kind: str = "mouse") -> None:
    """Moves to the first part of the plot's width; presses there and drags to the others."""
    element = browser.wait(SVG)
    chain = ActionChains(browser.driver, duration=50)
    chain.move_to_element_with_offset(element, at(browser, parts[0])[0], 0)
    if len(parts) > 1:
        chain.click_and_hold()
        for part in parts[1:]:
            chain.move_to_element_with_offset(element, at(browser, part)[0], 0)
        chain.release()
    chain.perform()


def touch(browser, *events: tuple[str, list[float]]) -> None:
    """Fingers, as parts of the plot's width."""
    at(browser, 0.5)
    box = browser.script("const b = document.querySelector(arguments[0]).getBoundingClientRect();"
                         "return [b.left, b.top, b.width]", SVG)
    for kind, fingers in events:
        browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [
            {"x": box[0] + part * box[2], "y": box[1] + 80, "id": number}
            for number, part in enumerate(fingers)]})


def test_newest_value_has_its_unit_and_the_plot_its_axes(shows):
    browser = shows()
    wait_drawn(browser)
    assert browser.text(f"{PLOT} .value") == "21.5 °C"
    assert "seconds ago" in browser.text(f"{PLOT} .note")
    marks = labels(browser)
    assert sum(":" in mark for mark in marks) >= 2, "times"
    numbers = [float(mark) for mark in marks if ":" not in mark]
    assert len(numbers) >= 3 and numbers == sorted(numbers)
    steps = {round(b - a, 9) for a, b in zip(numbers, numbers[1:])}
    assert len(steps) == 1, "steps are even"
    summary = browser.text(f"{PLOT} .sums")
    assert summary.startswith("Least ") and "greatest " in summary and "°C" in summary
    label = browser.wait(SVG).get_attribute("aria-label")
    assert label.startswith("celsius of Reading: newest 21.5 °C at ") and "least" in label


def test_newest_text_of_each_field_has_one_place(shows):
    browser = shows()
    rows = [row.text for row in browser.driver.find_elements("css selector", ".texts dl > div")]
    assert len(rows) == 2
    assert "door.state" in rows[0] and "open" in rows[0] and "line one" in rows[1]


@pytest.mark.parametrize("name,hours", [("Day", 24), ("Week", 168), ("Month", 720)])
def test_range_is_chosen(shows, name, hours):
    browser = shows()
    wait_drawn(browser)
    browser.click(f"[data-range={name}]")
    assert browser.wait(f"[data-range={name}]").get_attribute("aria-pressed") == "true"
    assert span(browser) == f"The last {name.lower()}"
    until(lambda: int(asked(browser)[-1]["until"]) - int(asked(browser)[-1]["since"])
          >= hours * HOUR, "the store to be asked for the range")
    assert 60 <= int(asked(browser)[-1]["points"]) <= 2000
    until(lambda: not any(":" in mark for mark in labels(browser)) or hours == 24, "days as marks")
    until(lambda: path(browser, "line").count("L") > 50, "the range to be drawn")
    assert path(browser, "band").count("z") == 1
    for scheme in SCHEMES:
        browser.scheme(scheme)
        browser.shot(f"phone-{scheme}-readings-{name.lower()}", whole=False)


def test_dragging_zooms_and_two_clicks_go_back(shows):
    browser = shows(DESKTOP)
    wait_drawn(browser)
    pointer(browser, 0.4, 0.5, 0.6)
    until(lambda: "–" in span(browser), "a zoomed span")
    zoomed = span(browser)
    until(lambda: int(asked(browser)[-1]["until"]) - int(asked(browser)[-1]["since"])
          < HOUR / 2, "the store to be asked for less")
    pointer(browser, 0.4, 0.6)
    until(lambda: span(browser) != zoomed, "a closer span")
    element = browser.wait(SVG)
    for expected in (zoomed, "The last hour"):
        ActionChains(browser.driver).double_click(element).perform()
        until(lambda: span(browser) == expected, f"the span {expected}")


def test_fingers_zoom_and_hold_a_time(shows):
    browser = shows()
    wait_drawn(browser)
    touch(browser, ("touchStart", [0.5]), ("touchEnd", []))
    until(lambda: " at " in browser.text(f"{PLOT} .note"), "a time to be held")
    touch(browser, ("touchStart", [0.5]), ("touchStart", [0.5, 0.6]), ("touchMove", [0.45, 0.7]),
          ("touchMove", [0.4, 0.9]), ("touchEnd", []))
    until(lambda: "–" in span(browser), "a zoomed span")

    def is_back() -> bool:
        # On a busy machine two taps may be too far apart to be one.
        touch(browser, ("touchStart", [0.5]), ("touchEnd", []), ("touchStart", [0.5]),
              ("touchEnd", []))
        return span(browser) == "The last hour"

    until(is_back, "two taps to go back", 60)


def test_live_data_does_not_move_what_is_held(shows, board):
    browser = shows()
    wait_drawn(browser)
    touch(browser, ("touchStart", [0.5]), ("touchEnd", []))
    until(lambda: path(browser, "cross"), "a crosshair")
    before = path(browser, "cross"), browser.text(f"{PLOT} .note"), browser.text(f"{PLOT} .value")
    line = path(browser, "line").split("L")[0]
    board.write(b'{"celsius":99}')
    board.write(b'{"celsius":98,"flow":3}')
    browser.wait("[data-series='Reading.flow'] .value")
    assert path(browser, "line").split("L")[0] == line
    assert (path(browser, "cross"), browser.text(f"{PLOT} .note"),
            browser.text(f"{PLOT} .value")) == before
    browser.shot("phone-light-readings-held", whole=False)
    browser.click("h1")
    browser.wait(f"{PLOT} .value", "98 °C")
    assert path(browser, "cross") == ""
    browser.wait(f"{PLOT} .sums", "greatest 99 °C")


def test_zoomed_view_stays_while_data_comes(shows, board):
    browser = shows()
    wait_drawn(browser)
    browser.click("#zoom-in")
    until(lambda: "–" in span(browser), "a zoomed span")
    before = span(browser)
    board.write(b'{"celsius":77}')
    browser.wait(f"{PLOT} .value", "77 °C")
    assert span(browser) == before and "greatest 77" not in browser.text(f"{PLOT} .sums")
    browser.click("#to-now")
    browser.wait(f"{PLOT} .sums", "greatest 77 °C")
    assert span(browser) == "The last hour"


def test_keys_move_the_crosshair_and_zoom(shows):
    browser = shows(DESKTOP)
    wait_drawn(browser)
    browser.script("document.querySelector(arguments[0]).focus()", SVG)
    browser.press("\ue011")  # Home
    first = browser.wait(SVG).get_attribute("aria-valuetext")
    browser.press("\ue014")  # right
    second = browser.wait(SVG).get_attribute("aria-valuetext")
    assert " at " in first and " at " in second and first != second
    browser.press("+")
    until(lambda: "–" in span(browser), "a zoomed span")
    browser.press("\ue00c")  # Escape
    until(lambda: span(browser) == "The last hour", "the way back")


def test_gap_is_a_gap_and_late_data_is_marked(shows):
    browser = shows(gap=[0.5, 0.3], late=[0.8, 0.6])
    until(lambda: path(browser, "line").count("M") == 2, "two lines with a gap between them")
    assert path(browser, "band").count("z") == 2
    assert path(browser, "late").count("M") > 3
    assert "came late" in browser.text(f"{PLOT} .sums")
    touch(browser, ("touchStart", [0.4]), ("touchEnd", []))
    browser.wait(f"{PLOT} .note", "came late")
    for scheme in SCHEMES:
        browser.scheme(scheme)
        browser.shot(f"phone-{scheme}-readings-gap", whole=False)


def test_age_is_said_while_the_board_or_the_authority_is_away(house, shows, board):
    browser = shows()
    assert not browser.find(".as-of")
    board.cable.pull()
    assert "The board is offline. As of" in browser.text(".as-of", "offline", 60)
    browser.shot("phone-light-readings-offline", whole=False)
    board.cable.plug()
    until(lambda: not browser.find(".as-of"), "the board to be back", 60)
    house.server.stop()
    assert ":" in browser.text(".as-of", "The authority cannot be reached. As of", 30)
    house.start()
    until(lambda: not browser.find(".as-of"), "the authority to be back", 60)
    board.wait_settled()


def test_page_says_that_nothing_is_kept(shows, board):
    browser = shows(kept=False)
    assert "keeps no data" in browser.text("section.readings .note", "keeps")
    assert not browser.find("[data-range]") and not asked(browser)
    assert browser.text(f"{PLOT} .value") == "21.5 °C"
    for celsius in (30, 31):
        board.write(b'{"celsius":%d}' % celsius)
    browser.wait(f"{PLOT} .value", "31 °C")
    assert "least 30 °C, greatest 31 °C" in browser.wait(SVG).get_attribute("aria-label")
    assert not asked(browser)


@pytest.mark.parametrize("width", [320, 360, 1280])
def test_readings_fit_and_pass_axe(shows, width):
    many = [{"field": f"a_rather_long_name_of_a_field.{n}", "number": n * 1e5} for n in range(8)]
    browser = shows((width, 780), gap=[0.5, 0.3], late=[0.8, 0.6],
                    newest=[{"field": "celsius", "number": 21.5}, *many, *TEXTS])
    browser.click("button", "Show 3 more")
    wait_drawn(browser)
    browser.click("#zoom-in")
    browser.wait("#to-now")
    assert browser.overflow() == [] and browser.small_targets() == []
    for scheme in SCHEMES:
        browser.scheme(scheme)
        browser.shot(f"{width}-{scheme}-readings")
        assert browser.accessibility() == []


def test_readings_come_first(shows):
    browser = shows()
    wait_drawn(browser)
    tops = browser.script("return ['readings', 'state', 'hour', 'rules', 'timeline'].map(name => "
                          "document.querySelector(`section.${name}`).getBoundingClientRect().top)")
    assert tops == sorted(tops)


def test_stored_readings_are_there_after_a_restart(house, visit):
    board = house.live("with a store")
    for celsius in (20, 24, 22):
        board.write(b'{"celsius":%d,"state":"on"}' % celsius)
    path = f"/postern/v1/boards/{board.iid}/newest"

    def newest() -> dict:
        return {v["field"]: v for v in house.admin.http("GET", path)[1]["results"]}

    until(lambda: newest().get("celsius", {}).get("number") == 22, "the store to have them", 60)
    house.server.stop()
    house.start()
    assert house.admin.http("GET", path)[1]["kept"]
    browser = visit(PHONE).log_in(path=f"/#/boards/{board.iid}").browser
    browser.wait(f"{PLOT} .value", "22")
    browser.wait(f"{PLOT} .sums", "Least 20, greatest 24")
    assert "on" in browser.text(".texts", "state")
    board.wait_settled()
    board.write(b'{"celsius":30}')
    browser.wait(f"{PLOT} .sums", "greatest 30")
    for name in ("Day", "Month"):
        browser.click(f"[data-range={name}]")
        browser.wait(f"{PLOT} .sums", "Least 20, greatest 30")
