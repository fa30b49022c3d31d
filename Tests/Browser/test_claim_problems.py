"""What the claim page says, by name, when a step does not come, and what to do next."""

import secrets

import pytest
from bench.waiting import until

BOARD = "9b2f8a4e-1c3d-4e5f-8a9b-0c1d2e3f4a5b"


@pytest.fixture
def visitor(phone):
    return phone.log_in()


def claim(visitor, address: str) -> None:
    visitor.browser.open(address)
    visitor.browser.click("#pair")


def test_board_that_is_off(house, visitor):
    board = house.add_board("shed")
    claim(visitor, visitor.claim_address(board))
    visitor.wait_step("sent")
    told = visitor.wait_problem("board-offline")
    assert "shed is not online" in told and "postern-agent doctor" in told
    visitor.browser.shot("phone-problem-board-offline")
    board.start()
    visitor.wait_step("opened", timeout=60)
    assert not visitor.browser.find("[data-problem=board-offline]"), "the page goes on by itself"


def test_code_that_was_used(house, visitor):
    board = house.add_board("used twice")
    address = visitor.claim_address(board)
    board.start()
    claim(visitor, address)
    visitor.wait_step("opened")
    claim(visitor, address)
    assert "pair --new" in visitor.wait_problem("claim-used")
    visitor.browser.shot("phone-problem-claim-used")
    visitor.browser.click("[data-problem] button", "Another code")
    visitor.browser.wait("h1", "Pair a board")


def test_board_that_is_being_claimed(house, visitor):
    board = house.add_board("claimed already")
    address = visitor.claim_address(board)
    claim(visitor, address)
    visitor.wait_step("sent")
    claim(visitor, address)
    assert "being claimed already" in visitor.wait_problem("claim-open")
    visitor.browser.shot("phone-problem-claim-open")


def test_code_of_another_authority(house, visitor):
    board = house.add_board("elsewhere")
    browser = visitor.browser.open("/claim")
    url = "https://other.example/claim#" + board.pair().partition("#")[2]
    browser.type("textarea", url)
    browser.click("main button[type=submit]")
    assert "other.example" in visitor.wait_problem("claim-other-authority")
    browser.shot("phone-problem-other-authority")


def test_board_with_another_key(house, visitor):
    board = house.live("replaced")
    fragment = board.pair("--new").partition("#")[2].split("&")
    false = "k=" + secrets.token_urlsafe(32)
    claim(visitor, "/claim#" + "&".join(false if p.startswith("k=") else p for p in fragment))
    told = visitor.wait_problem("board-has-another-key")
    assert "releases it" in told
    visitor.browser.shot("phone-problem-another-key")


def test_person_who_may_not(house, phone):
    guest = house.user("guest")
    board = house.add_board("not for guests")
    phone.log_in(guest, phone.claim_address(board))
    assert "guest" in phone.wait_problem("may-not-claim")
    phone.browser.shot("phone-problem-may-not-claim")
    phone.browser.click("[data-problem] button", "somebody else")
    phone.fill_login()
    phone.browser.wait("#pair")
    assert "#" not in phone.browser.address


def test_no_time_is_offered_that_is_too_long(house, visitor):
    board = house.add_board("not for a year")
    visitor.browser.open(visitor.claim_address(board))
    visitor.browser.wait("#pair")
    assert visitor.browser.find(".option", "30 days")
    assert not visitor.browser.find(".option", "1 year")


def test_a_claim_by_an_old_code_is_taken_back(house, visitor):
    board = house.add_board("with an old code")
    visitor.browser.open(visitor.claim_address(board))
    visitor.browser.click("#pair")
    assert "newer code" in visitor.wait_problem("board-offline")
    visitor.browser.click("[data-problem] button", "Take it back")
    visitor.wait_problem("cancelled")


def test_text_that_is_no_claim(house, visitor):
    browser = visitor.browser.open("/claim#v=1&i=nobody")
    assert "the board's id (i) is malformed" in visitor.wait_problem("claim-malformed")
    for text, words in [
        ("#v=2", "unknown version (v)"), ("#i=1", "its version (v) is missing"),
        ("#v=1", "the board's id (i) is missing"),
        (f"#v=1&i={BOARD}", "the board's key (k) is missing"),
        (f"#v=1&i={BOARD}&k=AAAA", "the board's key (k) is malformed"),
        (f"#v=1&i={BOARD}&k={'A' * 43}", "the one-time secret (c) is missing"),
        (f"#v=1&i={BOARD}&k={'A' * 43}&c=AAAA", "the one-time secret (c) is malformed"),
        (f"#v=1&i={BOARD}&n=%&k={'A' * 43}&c={'A' * 43}", "the board's name (n) is malformed"),
    ]:
        browser.type("textarea", f"https://example.com/claim{text}")
        browser.click("main button[type=submit]")
        browser.wait(".error", words)
    browser.type("textarea", "https://example.com/")
    browser.click("main button[type=submit]")
    browser.wait(".error", "no claim URL")


def test_rules_that_are_no_json(house, visitor):
    board = house.add_board("own rules")
    browser = visitor.browser.open(visitor.claim_address(board))
    browser.click(".option", "Custom rules")
    browser.type("textarea", "{ no")
    browser.click("#pair")
    browser.wait("form .error", "not JSON")
    browser.shot("phone-claim-custom-rules")
    board.start()
    browser.type("textarea", '{"default":"deny","rules":[{"class":"Note","allow":["create"]}]}')
    browser.click("#pair")
    visitor.wait_step("opened")


# What a real house comes to seldom, or after a day: status and body of the claim's answer, what
# is said of it later, the problem's name, and words that must be there.
SELDOM = {
    "broker": (503, {"code": 1, "error": "broker: away", "name": "broker-away"}, {},
               "broker-away", "Try again in a minute"),
    "full": (503, {"code": 1, "error": "the authority's disk is full", "name": "store-full"}, {},
             "store-full", "make room on the disk"),
    "rejected": (201, {"state": "sent"},
                 {"state": "rejected", "reason": {"code": 142, "error": "the clock is unset"}},
                 "board-rejected", "The clock is unset."),
    "expired": (201, {"state": "sent"}, {"state": "expired"}, "claim-expired", "pair --new"),
    "cancelled": (201, {"state": "sent"}, {"state": "cancelled"}, "cancelled", "withdrawn"),
    "unknown": (400, {"code": 119, "error": "no such thing"}, {}, "refused", "No such thing."),
}


@pytest.mark.parametrize("case", SELDOM)
def test_answer_that_is_seldom(house, visitor, case):
    status, answer, later, name, words = SELDOM[case]
    board = house.add_board("seldom")
    claim_of = {"claimId": "seldom", "installationId": board.pair().partition("i=")[2][:36],
                "sessionId": "x", "expiresAt": 4_000_000_000, "reason": None, "notes": []}
    visitor.browser.pretend("/claims", status, claim_of | answer)
    visitor.browser.pretend("/claims/seldom", 200, claim_of | later)
    claim(visitor, visitor.claim_address(board))
    assert words in visitor.wait_problem(name)
    visitor.browser.shot(f"phone-problem-{name}")


def test_paired_board_that_sends_nothing(house, visitor):
    board = house.add_board("silent")
    address = visitor.claim_address(board)
    board.start()
    claim(visitor, address)
    visitor.wait_step("opened")
    assert "no data yet" in visitor.wait_problem("no-data")
    visitor.browser.shot("phone-problem-no-data")
    board.wait_session("available")
    board.write()
    visitor.wait_step("data")
    until(lambda: not visitor.browser.find("[data-problem]"), "the advice to go", 60)
