"""The thief's list: what each of five gets, who takes what can be taken.

A copied card, a copied state folder, somebody who reads along at the broker, a rogue program on
the board, and whoever runs the broker. `Provisioning/SECURITY.md` says the same in words.
"""

import json
import re
import time

import pytest

from bench.chip import Chip
from bench.house import House, HouseBoard
from bench.open_house import OpenHouse
from bench.program import run
from bench.shipped_board import ShippedBoard
from bench.state_folder import copy_state
from bench.waiting import until
from house_fixtures import house, house_settings, measure  # noqa: F401, fixtures
from postern_contract import messages, sealed, topics
from postern_contract.claim_url import ClaimURL
from postern_contract.x25519 import KeyPair
from test_agent_keys import HAS_ID, may_unshare

def copied(house: House, victim: HouseBoard, name: str, **options) -> HouseBoard:
    """Another machine with a copy of this one's card."""
    thief = house.add_board(name, **options)
    copy_state(victim.folder / "state", thief.folder / "state")
    return thief


# A copied card.


def test_a_copied_card_is_this_board_until_its_owner_says_otherwise(house, measure):
    """With the key in a file on the card, all that is on the card can be used elsewhere."""
    victim = house.live("card")
    victim.agent.stop()
    thief = copied(house, victim, "card's copy")
    thief.start()
    thief.wait_session("available")
    mark = thief.watcher.mark()
    assert thief.iid == victim.iid
    measure.tell("a copied card with its key file", "the session, until it is revoked")
    session = victim.session_id
    house.revoke(session)
    assert thief.wait_session("unavailable", since=mark)["code"] == 209
    assert thief.write()["code"] == 209
    # The copy took the farewell: the board itself is refused at the broker, keeps what it accepts,
    # and is paired anew by whom it belongs to.
    victim.start()
    until(lambda: "login" in victim.status()["uplink"], "the broker to refuse the board", 60)
    assert "seq" in victim.write()
    victim.owner.claim(victim.pair("--new")).must_end()
    until(lambda: victim.session_id != session and victim.session_now["state"] == "available",
          "the new session", 60)
    until(lambda: victim.status()["queue"]["messages"] == 0, "what waited to leave", 60)
    assert thief.session_now["state"] == "unavailable"
    measure.tell("after the revocation", "209, and nothing of the next session")


def test_a_card_whose_key_is_in_a_chip_opens_nowhere_else(house, measure, tmp_path):
    chips = [Chip(tmp_path / name).start() for name in ("own", "another")]
    try:
        own, another = (f'[key]\ntpm = "{chip.transport}"\n' for chip in chips)
        victim = house.live("sealed card", settings=own)
        victim.agent.stop()
        thief = copied(house, victim, "its copy", settings=another)
        done = run(thief._argv("run"))
        assert done.returncode == 78 and "another TPM" in done.stderr, done.stderr
        mark = victim.watcher.mark()
        victim.start()
        victim.wait_session("available", since=mark)
    finally:
        for chip in chips:
            chip.close()
    measure.tell("a copied card whose key is in a chip", "nothing: it opens nowhere else")


@pytest.mark.skipif(not (HAS_ID and may_unshare()), reason="this machine has no id to change")
def test_a_copied_state_folder_opens_on_no_other_machine(house, measure, tmp_path):
    victim = house.live("folder")
    victim.agent.stop()
    thief = copied(house, victim, "folder's copy")
    other = tmp_path / "machine-id"
    other.write_text("0123456789abcdef" * 2 + "\n")
    done = run(["unshare", "-m", "sh", "-c",
                'mount --bind "$0" /etc/machine-id && exec "$@"', other, *thief._argv("run")])
    assert done.returncode == 78 and "another machine's id" in done.stderr, done.stderr
    measure.tell("a copied state folder", "nothing: it opens on no other machine")


def test_two_cards_of_one_board_are_found_out(house, measure):
    """The first rotation that both make ends the family: neither has a session any more."""
    victim = house.live("twin")
    session = victim.session_id
    victim.agent.stop()
    thief = copied(house, victim, "the other twin")
    thief.start()
    wait_refreshed(thief)
    thief.agent.stop()
    mark = victim.watcher.mark()
    victim.start()
    until(lambda: _refresh(victim) != "offline", "the victim's refresh to be answered", 60)
    assert victim.wait_session("unavailable", since=mark, timeout=60)["code"] == 209
    assert house.wait_event("session.reuse", session, 60)
    measure.tell("two cards, both refreshing", "the session is over for both, and the log says why")


def _refresh(board: HouseBoard) -> str:
    return json.loads(board.command("session", "refresh", "--json", ok=(0, 4, 5)))["result"]


def wait_refreshed(board: HouseBoard) -> None:
    until(lambda: _refresh(board) == "done", "a refresh", 60)


# Somebody who reads along.


# A session token, a refresh token, an access token: what stands in clear nowhere.
SHAPES = re.compile(rb"r:[A-Za-z0-9_-]{43}|rt:[A-Za-z0-9_-]{32,}|eyJ[A-Za-z0-9_-]{8,}\.eyJ")


def test_who_reads_along_has_no_token(house, measure):
    victim = house.live("overheard")
    assert house.consumer.is_up
    mark = len(house.evidence.journal)
    wait_refreshed(victim)
    assert "seq" in victim.write()
    until(lambda: house.data(victim), "the reading upstream", 60)
    said = victim.cable.heard()
    assert len(said) > 1000
    assert [m for _, m in house.evidence.journal[mark:] if SHAPES.search(m)] == []
    assert house.evidence.search() == []
    assert SHAPES.search(said) is None
    measure.tell("who reads along", "data and status; no token, no key, in no form of writing")


# A rogue program on the board.


@pytest.fixture
def shipped(tmp_path, evidence, programs):
    board = ShippedBoard(tmp_path, evidence, programs, "thermo", "rogue")
    yield board
    board.close()
    board.assert_conforms()


def test_a_rogue_program_gets_its_own_name_and_nothing_else(shipped, measure):
    claimed = shipped.live(scope={"default": "deny", "rules": [
        {"class": "Reading", "allow": ["create"]}]})
    rogue = shipped.app("rogue")
    listening = shipped.login("rogue", subscribe=("#", "postern/#", "$SYS/#"))
    for name in ("_User", "_Session", "_Role", "_Installation", "Camera"):
        assert rogue.write(name)["code"] == 119, name
    for topic in (topics.app("thermo", "create", "Reading"), topics.BUS_SESSION,
                  topics.BUS_HEALTH, "postern/app/thermo/answers"):
        assert rogue.link.publish(topic, b"forged") == 0x87, topic
    for what in ("session", "user", "sessions"):
        assert "oken" not in json.dumps(rogue.get(what)), what
    assert "seq" in shipped.app("thermo").write("Reading", b'{"celsius": 1}')
    shipped.wait_data(claimed, b'{"celsius": 1}')
    assert len(shipped.data_heard()) == 1
    heard = {m.topic for m in listening.heard}
    assert all(re.match(r"postern/(session|health|app/rogue/)", topic) for topic in heard), heard
    listening.close()
    measure.tell("a rogue program", "its own writes that all rules allow, and nobody's tokens")


# Whoever runs the broker.


@pytest.fixture(scope="module")
def open_house(tmp_path_factory, evidence, programs):
    house = OpenHouse(tmp_path_factory.mktemp("open"), evidence, programs)
    yield house
    house.close()


@pytest.fixture
def victim(open_house):
    board = open_house.add_board("watched")
    url = board.pair()
    board.start()
    open_house.admin.claim(url).must_end()
    board.wait_session("available")
    yield board


def test_who_runs_the_broker_makes_no_session_and_ends_none(open_house, victim, measure):
    rogue = open_house.rogue()
    inbox, outbox = topics.inbox(victim.iid), topics.outbox(victim.iid)
    session = victim.session_id
    wait_refreshed(victim)
    until(lambda: rogue.since(0, outbox), "a request to overhear", 60)
    overheard = [m.payload for m in rogue.since(0, outbox)]
    mine = KeyPair()
    board_key = _board_key(victim)
    forged = messages.new("session.revoked", seq=2**45, sessionId=session, reason="forged")
    for payload in (b"junk", b"{}", b"\x00" * 100_000,
                    sealed.seal_auth(forged, inbox, board_key, mine), *overheard):
        rogue.publish(inbox, payload)
    for payload in (*overheard, b"junk", sealed.seal_auth(
            messages.new("session.revoke", sessionToken="r:" + "A" * 43), outbox, board_key,
            mine)):
        rogue.publish(outbox, payload)
    wait_refreshed(victim)
    assert victim.session_now["state"] == "available"
    assert open_house.show(session)["state"] == "active"
    assert not open_house.events("session.reuse", session)
    measure.tell("who runs the broker, forging and playing back", "nothing: no session, no end")
    rogue.close()


def test_who_runs_the_broker_can_stop_traffic_and_lie_about_data_and_no_more(
        open_house, victim, measure):
    rogue = open_house.rogue()
    rogue.publish(open_house.data_topic(victim), b'{"celsius": -273}')
    rogue.publish(topics.status(victim.iid), json.dumps(
        {"status": "down", "session": "unavailable", "version": "0", "since": 1}), retain=True)
    time.sleep(0.2)
    assert victim.session_now["state"] == "available"
    victim.cable.pull()
    written = [victim.write(b'{"n": %d}' % n)["seq"] for n in range(5)]
    assert len(set(written)) == 5
    victim.cable.plug()
    topic = open_house.data_topic(victim)
    until(lambda: {b'{"n": %d}' % n for n in range(5)}
          <= {m.payload for m in rogue.since(0, topic)}, "what waited to come", 60)
    measure.tell("who runs the broker, lying and cutting",
                 "data and status are as honest as he is; what the board took waits and comes")
    rogue.close()


def _board_key(board: HouseBoard) -> bytes:
    """The device's public key: it stands in each code that the board shows."""
    return ClaimURL.parse(board.pair("--new")).device_key
