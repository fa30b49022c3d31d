"""Boards that ask to join by a prepared claim: seen on top of the list, accepted alone, as a selection
or together, ended, and the alarm of a second board. Real boards come last; before, the authority's
answers are made up here."""

import json
import shutil
import time
from pathlib import Path

import pytest
from bench.waiting import until
from browser import PHONE, SCHEMES
from test_languages import SIZE, english_left

NOW = int(time.time())
# Plays the authority's part of prepared claims: `held` is what it keeps, `failing` the names of
# those whose acceptance it refuses.
_PLAY = """
    const real = window.fetch, held = %s;
    window.failing = ["barn-3"];
    const answer = (status, body) => new Response(JSON.stringify(body), {
      status, headers: { "Content-Type": "application/json" } });
    window.fetch = async (url, options) => {
      const [, id, act] = /\\/prepared-claims(?:\\/([^/]+))?(\\/accept)?$/.exec(url) ?? [url];
      if (!/\\/prepared-claims/.test(url)) return real(url, options);
      const claim = held.find(one => one.id === id);
      if (options.method === "GET") return answer(200, { claims: held });
      if (options.method === "DELETE") {
        held.splice(held.indexOf(claim), 1);
        return answer(200, {});
      }
      if (failing.includes(claim.name)) {
        return answer(403, { code: 119, error: "you may not claim boards" });
      }
      claim.state = "accepted";
      return answer(201, { claim: {} });
    };
"""


def claim(number: int, state: str = "asking", **more) -> dict:
    iid = f"0000000{number}-0000-4000-8000-000000000000"
    board = {"installationId": iid, "name": "pi", "fingerprint": f"ABCD-EFGH-JKM{number}",
             "askedAt": NOW - 60}
    return {"id": iid, "name": f"barn-{number}", "owner": "ada", "state": state,
            "createdAt": NOW - 3600, "expiresAt": NOW + 30 * 86_400, "autoAccept": False,
            "labels": [], "board": None if state == "prepared" else board, **more}


def play(browser, claims: list[dict]) -> None:
    browser.driver.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument", {"source": _PLAY % json.dumps(claims)})


def visit_with(visitor, claims: list[dict]):
    browser = visitor.browser
    play(browser, claims)
    visitor.log_in()
    browser.wait("article.board, .empty")
    return browser


def check(browser, name: str) -> None:
    for scheme in SCHEMES:
        browser.scheme(scheme)
        browser.shot(f"{name}-{scheme}")
        faults = browser.accessibility() + browser.overflow() + browser.small_targets()
        assert faults == [], (name, scheme)
    browser.scheme(SCHEMES[0])


def results(browser) -> list[str]:
    return browser.script(
        "return [...document.querySelectorAll('dialog .each li')].map(e => e.textContent)")


def test_boards_that_ask_are_accepted_alone_as_a_selection_and_together(house, visit):
    visitor = visit(PHONE)
    browser = visit_with(visitor, [
        claim(1), claim(2), claim(3), claim(4, secondAt=NOW - 30), claim(5), claim(6),
        claim(7, "prepared")])
    browser.wait(".joins h2", "6 boards ask to join")
    assert "ABCD-EFGH-JKM1" in browser.text(".joins li", "barn-1")
    assert "A second board came" in browser.text(".joins li", "barn-4")
    check(browser, "phone-joins")

    # One, by the keyboard alone.
    browser.script("document.querySelector('.joins [id^=accept-00000001]').focus()")
    browser.press("\ue007")
    browser.wait("dialog h2", "Accept 1 board?")
    assert "ABCD-EFGH-JKM1" in browser.text("dialog .each li")
    visitor.confirm("Accept")
    browser.wait(".joins h2", "5 boards ask to join")

    # A selection.
    assert browser.find("#accept-selected") is None
    browser.click(".joins li label", "barn-2")
    browser.click(".joins li label", "barn-5")
    browser.click("#accept-selected", "Accept selected (2)")
    browser.wait("dialog h2", "Accept 2 boards?")
    visitor.confirm("Accept")
    browser.wait(".joins h2", "3 boards ask to join")

    # All that may be accepted. The authority refuses one; each result is by its board.
    browser.click("#accept-all")
    browser.wait("dialog h2", "Accept 2 boards?")
    browser.click("dialog button[type=submit]", "Accept")
    browser.wait("dialog .error", "1 board of 2 done. Try the others again")
    assert [("Not done: You may not claim boards" in text, "accepted" in text)
            for text in sorted(results(browser))] == [(True, False), (False, True)]
    check(browser, "phone-joins-results")
    browser.script("window.failing = []")
    visitor.confirm("Accept")
    browser.wait(".joins h2", "1 board asks to join")

    # Two boards came with the last one's file: it can only be ended.
    assert browser.find("#accept-all") is None and browser.find(".joins [id^=accept-]") is None
    browser.click(".joins button", "End")
    visitor.confirm("End the claim")
    until(lambda: browser.script("return document.querySelector('.joins').hidden"),
          "nothing more to accept", 60)


def test_list_of_prepared_claims_has_each_with_its_state(house, visit):
    visitor = visit(PHONE)
    browser = visit_with(visitor, [
        claim(1, "prepared"), claim(2, "accepted", secondAt=NOW - 30), claim(3, "expired"),
        claim(4, owner="olga"), claim(5, name="x" * 64)])
    browser.click("#prepared > summary", "Prepared claims (5)")
    rows = {number: browser.text(f"[data-prepared^='0000000{number}']") for number in range(1, 6)}
    assert "Waits for its board" in rows[1] and "serves until" in rows[1]
    assert "Accepted" in rows[2] and "A second board came" in rows[2]
    assert "Expired" in rows[3] and "olga" in rows[4] and "Asks to join" in rows[4]
    check(browser, "phone-prepared")
    browser.click("[data-prepared^='00000001'] button", "End")
    visitor.confirm("End the claim")
    browser.wait_gone("[data-prepared^='00000001']")


@pytest.mark.parametrize("tag", ["de-DE", "es-ES"])
def test_other_languages_have_it_all(house, visit, tag):
    browser, person = visit(SIZE, language=tag).browser, house.admin
    play(browser, [claim(1), claim(2), claim(3, secondAt=NOW - 30), claim(4, "prepared"),
                   claim(5, "accepted"), claim(6, "expired")])
    browser.open()
    browser.type("#username", person.name)
    browser.type("#password", person.password_file.read_text())
    browser.click("button.primary[type=submit]")
    browser.wait(".joins li")
    browser.click(".joins li label")
    browser.wait("#accept-selected")
    browser.click("#prepared > summary")
    assert english_left(browser, tag[:2]) == []
    check(browser, f"{tag[:2]}-joins")


@pytest.mark.parametrize("status, body", [
    (200, {"claims": []}), (403, {"code": 119, "error": "you may not claim boards"})])
def test_list_of_boards_has_no_such_part_without_prepared_claims(house, phone, status, body):
    browser = phone.browser
    browser.pretend("/prepared-claims", status, body)
    phone.log_in()
    browser.wait(".empty", "No board is paired yet")
    assert browser.find("#prepared") is None and browser.find(".joins") is None
    urls = browser.script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert not [url for url in urls if url.endswith("prepared.js")]


def test_real_boards_are_on_the_page_after_they_were_accepted(house, visit, tmp_path):
    made = json.loads(house.admin.must(
        "claims", "prepare", "--count", "2", "--out", tmp_path / "cards", "--name", "roof-{n}",
        "--json"))
    boards = {}
    for row in made:
        file = Path(row["file"])
        house.evidence.add_secret("the secret of a file", json.loads(file.read_text())["secret"])
        boards[row["name"]] = house.add_board(row["name"])
        shutil.copy(file, boards[row["name"]].config / "claim")
    visitor = visit(PHONE)
    browser = visitor.browser
    visitor.log_in()
    browser.wait("#prepared > summary", "Prepared claims (2)")
    for board in boards.values():
        board.start()
    browser.wait(".joins h2", "2 boards ask to join")
    for name, board in boards.items():
        assert board.status()["joining"]["fingerprint"] in browser.text(".joins li", name)
    browser.click("#accept-all")
    visitor.confirm("Accept")
    for name, board in boards.items():
        board.wait_session("available")
        browser.wait("article.board", name)
    until(lambda: browser.script("return document.querySelector('.joins').hidden"),
          "nothing more to accept", 60)
