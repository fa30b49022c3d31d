"""A program of somebody else with the Swift library `PosternSession`, and the real authority."""

import json
import re

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.login_provider import ISSUER, LoginProvider
from bench.phone import Phone
from conftest import assert_nothing_leaked
from house_fixtures import house  # noqa: F401, a fixture
from swift_fixtures import ROOT, session_app  # noqa: F401, a fixture

# The library is built first, which takes minutes.
pytestmark = pytest.mark.slow

PAGES = ROOT / "Sources" / "Libraries" / "PosternSession" / "PosternSession.docc"
HOUSE = ROOT / "Tests" / "Libraries" / "SessionApp" / "Sources" / "session-app" / "House.swift"
MAGIC = b"postern-session-1\n"
STEPS = ["sealed", "sent", "opened", "firstData"]


@pytest.fixture(scope="module")
def provider():
    provider = LoginProvider()
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def house_settings(provider) -> str:
    return (f'[users]\nsign_up = "open"\n[login.home]\nissuer = "{ISSUER}"\naudience = "us"\n'
            f'keys = "{provider.url}"\nsign_up = true\n')


@pytest.fixture
def phones(session_app, tmp_path, evidence):  # noqa: F811
    """Makes phones. Each has a folder of its own, unless it is given one."""
    made = []

    def make(folder=None):
        if folder is None:
            folder = tmp_path / f"{len(made)}"
            folder.mkdir()
            evidence.folders.append(folder)
        made.append(Phone(session_app, folder, evidence).start())
        return made[-1]

    yield make
    for phone in made:
        phone.close()


@pytest.fixture
def phone(phones, house):  # noqa: F811
    phone = phones()
    assert phone.open(url(house))["reason"] == "loggedOut"
    return phone


def url(house) -> str:  # noqa: F811
    return f"http://127.0.0.1:{house.http_port}"


def log_in(phone, person) -> dict:
    """Logs in by password. The token that the phone then has is a secret to search for."""
    session = phone.ask(
        "login", username=person.name, password=person.password_file.read_text())
    phone.evidence.add_secret(f"the token of session {session['id']}", stored(phone)["token"])
    return session


def stored(phone) -> dict:
    """What the phone keeps, opened by its key."""
    sealed = phone.store.read_bytes()[len(MAGIC):]
    key = AESGCM(phone.store.with_suffix(".key").read_bytes())
    return json.loads(key.decrypt(sealed[:12], sealed[12:], MAGIC))


# Logins.

def test_a_password_logs_in_and_a_wrong_one_says_so(house, phone):  # noqa: F811
    wrong = phone.fault("login", username="ada", password="not the right one")
    assert (wrong["kind"], wrong["code"]) == ("refused", 101)
    assert phone.wait_session("loggedOut") == ["loggedOut"] and not phone.store.exists()
    session = log_in(phone, house.admin)
    assert (session["username"], session["madeBy"], session["provider"]) == (
        "ada", "login", "password")
    assert phone.wait_session("available") == ["loggedOut", "available"]
    assert oct(phone.store.stat().st_mode)[-3:] == "600"


def test_an_id_token_logs_in_once(house, phone, provider, evidence):  # noqa: F811
    token = provider.token("the person")
    evidence.add_secret("an id token", token)
    session = phone.ask("login", provider="home", token=token)
    assert (session["madeBy"], session["provider"]) == ("signup", "home")
    again = phone.fault("login", provider="home", token=token)
    assert again["code"] == 101 and phone.ask("state")["session"]["id"] == session["id"]


def test_an_anonymous_user_is_a_new_one_each_time(house, phone):  # noqa: F811
    first = phone.ask("login")
    second = phone.ask("login")
    assert first["provider"] == "anonymous" and first["username"] != second["username"]


# The stored session.

def test_a_session_outlives_its_program_and_is_there_before_any_network(
        house, phones):  # noqa: F811
    phone = phones()
    phone.open(url(house))
    session = log_in(phone, house.admin)
    phone.kill()
    house.server.stop()
    try:
        again = phones(phone.out.parent)
        restored = again.open(url(house), heartbeat=0.2)
        assert restored["state"] == "available" and restored["session"]["id"] == session["id"]
        assert restored["validatedAt"] > 0
        again.wait_session("authorityAway")
    finally:
        house.start()
    assert again.wait_session("available") == [
        "loggedOut", "available", "authorityAway", "available"]
    assert again.ask("state")["validatedAt"] > restored["validatedAt"]


@pytest.mark.parametrize("spoil", ["data", "key", "no key"])
def test_a_damaged_file_is_set_aside_and_is_no_first_launch(
        house, phones, spoil):  # noqa: F811
    phone = phones()
    phone.open(url(house))
    log_in(phone, house.admin)
    phone.kill()
    key = phone.store.with_suffix(".key")
    if spoil == "data":
        phone.store.write_bytes(phone.store.read_bytes()[:-1])
    elif spoil == "key":
        key.write_bytes(bytes(32))
    else:
        key.unlink()
    again = phones(phone.out.parent)
    assert again.open(url(house))["reason"] == "unreadable"
    assert not phone.store.exists() and phone.store.with_suffix(".unreadable").exists()
    # A login works, and a logout leaves nothing.
    log_in(again, house.admin)
    again.ask("logout")
    assert left(again) == []


def test_a_session_of_another_authority_is_not_sent_to_this_one(
        house, phones):  # noqa: F811
    phone = phones()
    phone.open(url(house))
    log_in(phone, house.admin)
    phone.kill()
    again = phones(phone.out.parent)
    assert again.open("https://other.example")["reason"] == "unreadable"


def test_a_logout_clears_everything(house, phone):  # noqa: F811
    session = log_in(phone, house.admin)
    phone.ask("logout")
    assert phone.wait_session("loggedOut") == ["loggedOut", "available", "loggedOut"]
    assert left(phone) == [] and phone.fault("boards")["kind"] == "loggedOut"
    assert session["id"] not in [s["objectId"] for s in house.cli_json("sessions", "list")]


def test_a_logout_without_the_authority_clears_and_says_so(house, phone):  # noqa: F811
    log_in(phone, house.admin)
    house.server.stop()
    try:
        assert phone.fault("logout")["kind"] == "transport"
        assert left(phone) == [] and phone.wait_session("loggedOut")
    finally:
        house.start()


def test_a_logout_of_a_session_that_was_revoked_elsewhere_is_a_logout(
        house, phone):  # noqa: F811
    session = log_in(phone, house.admin)
    house.admin.must("sessions", "revoke", session["id"])
    phone.ask("logout")
    assert phone.wait_session("loggedOut") == ["loggedOut", "available", "loggedOut"]
    assert left(phone) == []


def left(phone) -> list[str]:
    """What is in the phone's folder besides its output."""
    return sorted(p.name for p in phone.store.parent.iterdir()
                  if p.suffix not in (".out", ".err"))


# The session at the authority.

def test_a_heartbeat_never_extends_and_extend_does(house, phone):  # noqa: F811
    session = log_in(phone, house.admin)
    for _ in range(3):
        phone.ask("heartbeat")
    assert phone.ask("state")["session"]["expiresAt"] == session["expiresAt"]
    longer = phone.fault("extend", seconds=600)
    assert (longer["code"], longer["name"]) == (142, "would-shorten")
    shorter = phone.ask("extend", seconds=600, shorten=True)
    assert shorter["expiresAt"] < session["expiresAt"]
    extended = phone.ask("extend", seconds=3600)
    assert shorter["expiresAt"] < extended["expiresAt"]
    assert phone.ask("state")["session"]["expiresAt"] == extended["expiresAt"]
    assert phone.fault("extend", seconds=1)["code"] == 142


def test_sessions_are_listed_and_one_is_revoked(house, phones):  # noqa: F811
    here, there = phones(), phones()
    for one in (here, there):
        one.open(url(house))
    mine, other = log_in(here, house.admin), log_in(there, house.admin)
    listed = {s["id"]: s for s in here.ask("sessions")}
    assert listed[mine["id"]]["isThisOne"] and not listed[other["id"]]["isThisOne"]
    here.ask("revoke", session=other["id"])
    assert here.fault("revoke", session="../users")["kind"] == "invalid"
    # The other phone learns it by whatever it asks next, and all that it stored goes.
    assert there.fault("boards")["kind"] == "sessionOver"
    assert there.wait_session("ended") == ["loggedOut", "available", "ended"]
    assert left(there) == []
    here.ask("heartbeat")
    assert here.wait_session("available") == ["loggedOut", "available"]


def test_a_revocation_elsewhere_ends_streams_and_heartbeats_once(
        house, phone):  # noqa: F811
    session = log_in(phone, house.admin)
    phone.ask("follow")
    phone.wait(lambda: phone.events("connected"), "the stream of events")
    house.admin.must("sessions", "revoke", session["id"])
    phone.wait_session("ended")
    ended = phone.wait(lambda: phone.events("ended"), "the end of the stream")
    assert ended[0]["error"]["kind"] == "sessionOver" and left(phone) == []
    assert phone.fault("heartbeat")["kind"] == "loggedOut"
    assert phone.wait_session("ended") == ["loggedOut", "available", "ended"]


def test_a_session_is_renewed_by_an_extension_before_it_ends(house, phones):  # noqa: F811
    phone = phones()
    phone.open(url(house), heartbeat=0.2, renewalMargin=600)
    log_in(phone, house.admin)
    short = phone.ask("extend", seconds=300, shorten=True)
    phone.wait(lambda: phone.ask("state")["session"]["expiresAt"] > short["expiresAt"] + 86_400,
               "the session to be renewed")
    assert set(phone.wait_session("available")) == {"loggedOut", "available"}


def test_a_session_at_its_limit_is_renewed_by_a_new_proof(
        house, phones, provider, evidence):  # noqa: F811
    phone = phones()
    # All that a session may last is less than the margin, so each new one is renewed once.
    phone.open(url(house), heartbeat=0.2, renewalMargin=40 * 86_400)
    proofs = [provider.token("renewed") for _ in range(2)]
    for proof in proofs:
        evidence.add_secret("an id token", proof)
    phone.ask("proof", provider="home", token=proofs[1])
    first = phone.ask("login", provider="home", token=proofs[0])
    phone.wait(lambda: phone.ask("state")["session"]["id"] != first["id"], "a new session")
    state = phone.ask("state")
    assert state["session"]["username"] == first["username"]
    assert set(phone.wait_session("available")) == {"loggedOut", "available"}
    phone.wait(lambda: first["id"] not in [s["id"] for s in phone.ask("sessions")],
               "the old session to end")


def test_the_authority_may_go_and_come_back(house, phones):  # noqa: F811
    phone = phones()
    phone.open(url(house), heartbeat=0.2)
    session = log_in(phone, house.admin)
    house.server.stop()
    phone.wait_session("authorityAway")
    assert phone.store.exists()
    assert phone.fault("boards")["kind"] == "transport"
    house.start()
    phone.wait_session("available")
    assert phone.ask("state")["session"]["id"] == session["id"]


# Boards.

def test_a_board_is_claimed_in_four_steps_and_its_state_is_live(
        house, phone):  # noqa: F811
    board = house.add_board("balcony")
    claim_url = board.pair()
    log_in(phone, house.admin)
    phone.ask("updates")
    phone.wait(lambda: phone.events("boards"), "the list of boards")
    number = phone.send("claim", url=f" {claim_url[:60]}\n{claim_url[60:]}", seconds=3600,
                        classes=["Reading"])
    phone.wait(lambda: steps(phone) == STEPS[:2], "the claim to be sent")
    board.start()
    phone.wait(lambda: steps(phone) == STEPS[:3], "the board to open it")
    board.wait_settled()
    phone.wait(lambda: shown(phone, board).get("online"), "the board to be shown online")
    follow = phone.send("follow", board=board.iid)
    phone.wait(lambda: phone.events("connected"), "the board's own events")
    assert board.write(b'{"celsius":20.5}')["seq"]
    assert "done" in phone.answer(number) and steps(phone) == STEPS
    reading = phone.wait(lambda: phone.events("reading"), "the reading")[0]
    assert (reading["class"], reading["numbers"]) == ("Reading", {"celsius": 20.5})
    # The scope of the claim is in force.
    assert board.thermo.write("Camera", b"{}")["code"] == 119
    phone.ask("stop", seconds=follow)
    board.agent.stop()
    phone.wait(lambda: not shown(phone, board).get("online"), "the board to be shown offline")


def steps(phone) -> list[str]:
    return [e["step"] for e in phone.events("claim")]


def shown(phone, board) -> dict:
    """The board in the newest list."""
    return next((b for b in phone.events("boards")[-1]["boards"] if b["id"] == board.iid), {})


def test_a_claim_is_withdrawn_and_used_once(house, phone):  # noqa: F811
    board = house.add_board("cellar")
    claim_url = board.pair()
    log_in(phone, house.admin)
    number = phone.send("claim", url=claim_url)
    phone.wait(lambda: steps(phone) == STEPS[:2], "the claim to be sent")
    phone.ask("withdraw", claim=phone.events("claim")[0]["claim"])
    error = phone.answer(number)["error"]
    assert (error["kind"], error["state"]) == ("claimEnded", "cancelled")
    for wrong in ("", "https://home.example/claim", claim_url[:-20].partition("&c=")[0],
                  "x#", "x#=", "x#v=1&="):
        assert phone.fault("claim", url=wrong)["kind"] == "invalid"


def test_the_app_of_the_page_runs_and_the_page_shows_its_code(
        house, phone):  # noqa: F811
    code = HOUSE.read_text()
    page = (PAGES / "AnAppInAnAfternoon.md").read_text()
    blocks = re.findall(r"```swift\n(.*?)```", page, re.S)
    assert len(blocks) >= 6 and "\n".join(blocks) == code
    house.live("attic")
    boards = phone.ask("house", username="ada", password=house.password_file.read_text())
    assert "attic" in [board["name"] for board in boards] and left(phone) == []


def test_no_secret_is_in_output_files_or_arguments(evidence):
    assert_nothing_leaked(evidence)
