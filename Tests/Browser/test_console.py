"""The console's pages: what they show, what can be done there, and who sees them."""

import pytest
from bench.waiting import until
from browser import DESKTOP, PHONE
from visitor import everybody, wait_board

POLICY = 'default = "deny"\n[[rule]]\napp = "thermo"\nclass = "Reading"\nallow = ["create"]\n'


@pytest.fixture(scope="module")
def board(house):
    """A board that has sent a few readings, and was refused one."""
    board = house.live("weather mast", policy=POLICY)
    for celsius in range(20, 26):
        board.write(b'{"celsius":%d,"humidity":%d}' % (celsius, 70 - celsius))
    board.write(b"as text")
    assert board.thermo.write("Alarm", b"{}")["code"] == 119
    # A board tells what it refused when it connects, and then with each heartbeat.
    board.cable.pull()
    until(lambda: not board.is_online(), "the board to be offline", 60)
    board.cable.plug()
    board.wait_settled()
    return board


def test_login_says_what_is_wrong_and_nothing_more(house, phone):
    browser = phone.browser.open()
    told = []
    for name, password in ((house.admin.name, "wrong"), ("nobody", "wrong")):
        browser.type("#username", name)
        browser.type("#password", password)
        browser.click("button[type=submit]", "Log in")
        told.append(browser.text(".error", "wrong"))
    assert told[0] == told[1] == "The name or the password is wrong."
    browser.shot("phone-login-wrong")


def test_next_visit_needs_no_login_until_logout(house, visit):
    first = visit(PHONE, profile="kept").log_in()
    first.browser.wait("h1", "Boards")
    first.browser.collect()
    first.browser.close()
    again = visit(PHONE, profile="kept")
    again.browser.open()
    again.browser.wait("h1", "Boards")
    again.log_out()
    again.browser.open()
    again.browser.wait("#username")
    assert "session" not in again.browser.script("return document.cookie")


def test_session_that_ends_elsewhere_leads_to_the_login_and_back(house, phone, board):
    phone.log_in()
    phone.open_board(board)
    phone.wait_live()
    mine = [s for s in house.admin.http("GET", "/postern/v1/sessions")[1]["results"]
            if s["createdWith"]["action"] == "login" and s["state"] == "active"]
    newest = max(mine, key=lambda session: session["createdAt"])
    house.revoke(newest["objectId"])
    assert "ended" in phone.browser.text("main.login", "Your session has ended")
    phone.fill_login()
    phone.browser.wait("h1", board.name)


def test_rules_are_changed_and_wait_for_the_board(house, phone):
    board = house.live("with rules")
    session, browser = board.session_id, phone.browser
    phone.log_in()
    phone.open_board(board)
    phone.wait_live()
    assert "Everything" in browser.text("section.rules", "Everything")
    board.cable.pull()
    until(lambda: not board.is_online(), "the board to be away", 60)
    browser.click("#change-rules")
    browser.click("dialog input[value=readings]")
    browser.shot("phone-rules-dialog")
    phone.confirm("Change")
    browser.wait("section.rules .pill", "waiting for the board")
    browser.wait("section.rules", "Any app may create Reading")
    browser.shot("phone-rules-waiting")
    assert house.show(session)["scopePending"]
    board.cable.plug()
    until(lambda: "waiting" not in browser.text("section.rules", "rules"),
          "the confirmation to be seen", 60)
    assert board.app("door").write("Door")["rule"] == "scope:default"
    # The rules in force are there to be changed, and what is wrong is said in the dialog.
    browser.click("#change-rules")
    assert '"Reading"' in browser.wait("dialog textarea").get_attribute("value")
    browser.script("document.querySelector('dialog textarea').value = '{\"defalt\": \"deny\"}'")
    browser.click("dialog button[type=submit]")
    assert "no member defalt" in browser.text("dialog .error", "defalt")
    browser.click("dialog input[value=everything]")
    phone.confirm("Change")
    browser.wait("section.rules", "Every write is allowed")
    until(lambda: "seq" in board.app("door").write("Door"), "the wider rules", 60)


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_boards_are_listed_with_their_state(house, visit, board, size, request):
    name = request.node.callspec.id
    visitor = visit(size).log_in()
    browser = visitor.browser
    visitor.wait_live()
    card = browser.wait("article.board", board.name)
    assert "Online" in card.text and "Active" in card.text
    bars = browser.wait("article.board svg.messages").get_attribute("aria-label")
    assert bars.startswith("Messages a minute") or "in the last hour" in bars
    browser.shot(f"{name}-boards")
    browser.click("article.board h2 a", board.name)
    browser.wait("h1", board.name)
    visitor.wait_plotted("Reading.celsius", "25")
    visitor.wait_plotted("Reading.humidity", "45")
    assert "as text" in browser.text(".texts", "Reading")
    plot = browser.wait("[data-series='Reading.celsius'] svg")
    assert plot.get_attribute("aria-label").startswith("celsius of Reading: newest 25 at ")
    browser.wait(".story", "Session accepted by the board")
    browser.shot(f"{name}-board-whole")


def test_refusal_is_explained(house, desktop, board):
    desktop.log_in()
    desktop.open_board(board)
    browser = desktop.browser
    browser.wait("section.rules", "App thermo may create Reading")
    browser.wait("section.rules .rows", "thermo: 1 write, by policy.toml:default")
    browser.click("section.rules .rows button", "Explain")
    browser.type("[name=app]", "thermo")
    browser.type("[name=class]", "Alarm")
    browser.click(".explain button[type=submit]")
    # The form's own words begin with "Refused", too; only an answer has a pill.
    browser.wait(".answer .pill", "Refused")
    assert "policy" in browser.text(".answer")
    browser.type("[name=class]", "Reading")
    browser.click(".explain button[type=submit]")
    browser.wait(".answer", "Passes")
    browser.shot("desktop-board-explain")


def test_board_is_renamed_extended_and_released(house, phone):
    board = house.live("to be renamed")
    phone.log_in()
    phone.open_board(board)
    browser = phone.browser
    browser.click("#rename")
    browser.type("dialog input", "by the pond")
    browser.shot("phone-dialog")
    phone.confirm("Rename")
    browser.wait("h1", "by the pond")
    browser.click("#end-earlier")
    browser.click("dialog .option", "7 days")
    phone.confirm("End earlier")
    browser.wait(".story", "Session extended")
    browser.click("#extend")
    browser.click("dialog .option", "30 days")
    phone.confirm("Extend")
    browser.wait(".facts", "in 30 days")
    phone.end("#release")
    phone.confirm("Release")
    browser.wait("h1", "Boards")
    until(lambda: board.iid not in everybody(house), "the board to be released", 60)


def test_an_open_claim_is_seen_and_ended(house, phone):
    board = house.live("claimed anew")
    phone.log_in()
    board.cable.pull()
    browser = phone.browser
    browser.open(phone.claim_address(board, "--new"))
    browser.click("#pair")
    phone.wait_step("sent")
    browser.open(f"/#/boards/{board.iid}")
    browser.wait("h1", board.name)
    browser.click("#end-claim")
    browser.shot("phone-dialog-end-claim")
    phone.confirm("End the claim")
    browser.wait_gone("#end-claim")
    board.cable.plug()
    until(board.is_online, "the board to be back", 60)
    wait_board(house, board, status="up", sessionState="active")
    assert "seq" in board.write(), "its session is the one it had"


def test_sessions_are_shown_and_signed_out(house, visit):
    person = house.user("sven", "--claim")
    laptop, phone = visit(DESKTOP).log_in(person), visit(PHONE).log_in(person)
    laptop.browser.wait("h1", "Boards")
    browser = phone.browser.go("/#/sessions")
    browser.wait("article.this", "This one")
    browser.click("article.this button", "Rename")
    browser.type("dialog input", "Pocket phone")
    phone.confirm("Rename")
    browser.wait("article.this", "Pocket phone")
    browser.shot("phone-sessions")
    browser.click("#others")
    phone.confirm("Sign out all others")
    laptop.browser.wait("#username")
    browser.wait("section", "No other login is active")
    browser.click("article.this button", "Sign out")
    browser.click("dialog button[type=submit]", "Sign out")
    browser.wait("#username")


def test_users_are_kept_by_administrators(house, desktop):
    desktop.log_in()
    browser = desktop.browser.go("/#/users")
    browser.click("#add-user")
    browser.type("dialog [name=username]", "tove")
    browser.type("dialog [name=password]", "a long enough password")
    desktop.confirm("Add")
    browser.wait("[data-user=tove]", "User")
    browser.shot("desktop-users")
    browser.click("[data-user=tove] button", "Disable")
    desktop.confirm("Disable")
    browser.wait("[data-user=tove] .pill", "Disabled")
    browser.click("[data-user=tove] button", "Enable")
    until(lambda: not browser.find("[data-user=tove] .pill", "Disabled"), "tove to be enabled")
    browser.click("[data-user=tove] .check")
    browser.wait(".toast", "may not pair boards")


def test_log_is_filtered_and_exported(house, desktop, board):
    desktop.log_in()
    browser = desktop.browser.go("/#/audit")
    browser.wait(".log", "Logged in")
    browser.click(".filter summary")
    browser.script("""const s = document.querySelector("[name=event]"); s.value = "claim";
        s.dispatchEvent(new Event("input", { bubbles: true }))""")
    until(lambda: "Logged in" not in browser.text(".log"), "the log to be filtered")
    browser.wait(".log", "Claim accepted")
    browser.shot("desktop-audit")
    browser.click("button", "Export CSV")
    browser.wait(".toast", "audit.csv")


def test_others_see_neither_users_nor_the_log(house, phone, board):
    phone.log_in(house.user("tim"))
    browser = phone.browser
    browser.wait("nav", "Sessions")
    assert browser.text("nav").split() == ["Boards", "Sessions", "Consumers"]
    browser.go("/#/users")
    browser.wait("h1", "Boards")
    assert "No board is paired yet" in browser.text("main", "No board")
    browser.shot("phone-boards-none")
    browser.go(f"/#/boards/{board.iid}")
    browser.wait("[role=alert]", "no such board")


def test_line_that_breaks_is_told_and_mended(house, desktop, board):
    desktop.log_in()
    desktop.open_board(board)
    desktop.wait_live()
    house.server.stop()
    desktop.browser.wait(".live", "Reconnecting")
    desktop.wait_state("Last known: Online")
    desktop.browser.shot("desktop-reconnecting")
    house.start()
    desktop.browser.wait(".live", "Live")
    until(lambda: "Last known" not in desktop.browser.text(".title .pill"), "the state of now")
    board.wait_settled()
    board.write(b'{"celsius":31.5}')
    desktop.wait_plotted("Reading.celsius", "31.5", 40)
