"""`postern-agent pair` on a terminal: a person types the short code at the authority's page, and
somebody at the board's screen confirms who it was."""

import re
import secrets
import threading
import time
from pathlib import Path

import pytest

from bench.house import House, HouseBoard, Person
from bench.pair_screen import CODE, Screen
from bench.program import free_port
from bench.waiting import until
from house_fixtures import house, house_settings  # noqa: F401, fixtures

SECRET = re.compile(rb"[A-Za-z0-9_-]{43}")


def base(house: House) -> str:
    return f"http://127.0.0.1:{house.http_port}/claim"


def add(house: House, name: str) -> HouseBoard:
    return house.add_board(name, agent_env={"POSTERN_CLAIM_BASE": base(house)}).start()


def ask(person: Person, verb: str, code: str, **more) -> tuple[int, dict]:
    return person.http("POST", f"/postern/v1/claim-codes/{verb}", {"code": code, **more})


def must(person: Person, verb: str, code: str, **more) -> dict:
    status, answer = ask(person, verb, code, **more)
    assert status == 200, answer
    return answer


@pytest.fixture(scope="module")
def eve(house) -> Person:
    return house.user("eve", "--claim")


class Arguments:
    """What other users of this machine see of every `curl` that runs meanwhile."""

    def __enter__(self) -> "Arguments":
        self.seen: set[bytes] = set()
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def _watch(self) -> None:
        while not self._over.is_set():
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if (process / "comm").read_text() == "curl\n":
                        self.seen |= {(process / "cmdline").read_bytes(),
                                      (process / "environ").read_bytes()}
                except OSError:
                    continue
            time.sleep(0.001)

    def __exit__(self, *_) -> None:
        self._over.set()
        self._watcher.join()


def test_a_person_types_the_code_and_the_board_confirms(house):
    board = add(house, "in the barn")
    with Arguments() as arguments:
        screen = Screen(board, base(house))
        code = screen.code()
        assert CODE.search(screen.shown).group(2) == base(house)
        found = must(house.admin, "show", code.replace("-", "").lower())
        assert found["boardName"] == "in the barn" and found["installationId"] == board.iid
        assert f"fingerprint {found['fingerprint']}" in screen.shown
        assert must(house.admin, "progress", code) == {"state": "waiting"}
        must(house.admin, "claim", code, durationSeconds=86_400, session={"name": "barn"})
        screen.wait(f"ada wants to claim this board at Home ({base(house)}). Is that you? [y/N]")
        assert must(house.admin, "progress", code) == {"state": "named"}
        assert house.cli_json("boards", "claims") == [], "the code alone claims nothing"
        until(lambda: any(b"/claim-codes" in one for one in arguments.seen),
              "a curl to be seen", 60)
        screen.type("y")
        shown = screen.end()
    assert screen.status == 0
    assert "✓ ada has claimed this board" in shown
    session = board.wait_session("available")["session"]
    claimed = must(house.admin, "progress", code)
    assert claimed["state"] == "claimed" and claimed["claim"]["state"] == "accepted"
    assert claimed["claim"]["sessionId"] == session["objectId"]
    assert not any(SECRET.search(one) for one in arguments.seen), "no secret in an argument"
    assert ask(house.admin, "claim", code)[0] == 404, "it serves once"


def test_a_stranger_who_types_the_code_first_gets_nothing(house, eve):
    board = add(house, "overheard")
    screen = Screen(board, base(house))
    code = screen.code()
    # Typed before the question, so it answers nothing.
    screen.type("y")
    must(eve, "claim", code)
    screen.wait("eve wants to claim this board")
    assert ask(house.admin, "claim", code)[0] == 404, "the first person has the code"
    assert screen.status is None, "it waits for an answer to the question"
    screen.type("n")
    assert "refused: nobody got this board" in screen.end() and screen.status == 0
    assert must(eve, "progress", code) == {"state": "refused"}
    assert ask(eve, "claim", code)[0] == 404
    assert house.cli_json("boards", "claims", "--everyone") == []
    assert board.session_now["state"] == "unavailable"
    events = {entry["event"] for entry in house.audit(board)}
    assert {"claim.code-named", "claim.code-refused"} <= events and "claim" not in events


def test_the_qr_code_ends_the_wait(house):
    board = add(house, "scanned")
    screen = Screen(board, base(house))
    screen.code()
    house.admin.claim(screen.url()).must_end()
    assert "✓ ada has claimed this board" in screen.end()


def test_a_claimed_board_may_be_claimed_again(house):
    board = house.live("again", agent_env={"POSTERN_CLAIM_BASE": base(house)})
    old = board.session_id
    screen = Screen(board, base(house), "--new")
    code = screen.code()
    must(house.admin, "claim", code)
    screen.wait("ada wants to claim this board")
    screen.type("yes")
    assert "✓ ada has claimed this board" in screen.end()
    until(lambda: board.session_id != old, "another session", 60)


def test_wrong_codes_are_few(house):
    bob = house.user("bob", "--claim")
    for _ in range(10):
        wrong = "".join(secrets.choice("BCDFGHJKLMNPQRSTVWXZ") for _ in range(8))
        assert ask(bob, "show", wrong)[0] == 404
    status, refused = ask(bob, "show", "BCDF-GHJK")
    assert status == 429 and refused["code"] == 155
    assert ask(bob, "claim", "BCDF-GHJK")[0] == 429
    assert ask(bob, "show", "AEIO-UAEI")[0] == 400


def test_only_who_may_claim_types_codes(house):
    carl = house.user("carl")
    for verb in ("show", "claim", "progress"):
        status, refused = ask(carl, verb, "BCDF-GHJK")
        assert status == 400 and refused["name"] == "may-not-claim"


def test_without_a_terminal_or_an_authority_there_is_the_url_alone(house):
    board = add(house, "alone")
    assert "or type" not in board.command("pair", secret_output=True)
    away = f"http://127.0.0.1:{free_port()}/claim"
    screen = Screen(board, away)
    shown = screen.end()
    assert screen.status == 0 and "#v=1&i=" in shown
    assert "no short code: curl: (7)" in shown
    screen = Screen(board, "http://authority.example/claim")
    assert "must be an https:// address" in screen.end()


def test_a_yes_for_a_claim_that_the_board_has_no_more_sends_nothing(house):
    board = add(house, "paired again")
    screen = Screen(board, base(house))
    code = screen.code()
    must(house.admin, "claim", code)
    screen.wait("Is that you? [y/N]")
    board.pair("--new")
    screen.type("y")
    assert "has another claim by now" in screen.end()
    assert must(house.admin, "progress", code)["state"] == "refused"
