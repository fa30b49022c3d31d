"""Who is who on a board as it is shipped: `Devices/linux-generic` with a real mosquitto and agent."""

import json
import time

import pytest

from bench.link import Link, Login, Refused
from bench.shipped_board import ShippedBoard
from bench.waiting import until
from conftest import assert_nothing_leaked
from postern_contract import topics

NOT_AUTHORIZED = 0x87
USERS = ("thermo", "door", "zigbee")


@pytest.fixture
def board(tmp_path, evidence, programs):
    board = ShippedBoard(tmp_path, evidence, programs, *USERS)
    yield board
    board.close()
    board.assert_conforms()


def _health(board) -> dict:
    said = [m for m in board.watcher.heard if m.topic == topics.BUS_HEALTH]
    return json.loads(said[-1].payload)


def _assert_only(board, claimed, app, *payloads: bytes) -> None:
    """A write of `app` arrives after these, and nothing else went upstream or was counted."""
    assert "seq" in app.write("Reading", b"the last")
    board.wait_data(claimed, b"the last")
    assert [m.payload for m in board.data_heard()] == [*payloads, b"the last"]
    status = board.status()
    assert status["lastSequence"] == len(payloads) + 1
    assert status["refused"] == 0 and status["refusals"] == []


def test_programs_write_under_their_own_names(board):
    claimed = board.live()
    for name in ("thermo", "door"):
        assert "seq" in board.app(name).write("Reading", name.encode())
        assert board.wait_data(claimed, name.encode()).user["app"] == name


def test_nobody_writes_under_anothers_name(board):
    claimed = board.live()
    thermo, door = board.app("thermo"), board.app("door")
    answer = topics.app("door", "answers")
    for levels in (("create", "Reading"), ("update", "Reading", "a"), ("delete", "Reading", "a"),
                   ("get", "session"), ("rejected",), ("answers",)):
        topic = topics.app("thermo", *levels)
        assert door.link.publish(topic, b"forged", response_topic=answer) == NOT_AUTHORIZED
    _assert_only(board, claimed, thermo)
    assert thermo.link.since(0, topics.app("thermo", "rejected")) == []
    assert [m for m in thermo.link.heard + door.link.heard if m.payload == b"forged"] == []


def test_nobody_reads_anothers_answers(board):
    board.live()
    curious = board.login("door", subscribe=("postern/app/+/answers", "postern/app/thermo/#",
                                             "postern/#", "#", "$SYS/#"))
    thermo = board.app("thermo")
    assert "seq" in thermo.write("Reading")
    assert thermo.write("_User")["code"] == 119
    assert thermo.get("user")["username"] == "ada"
    assert "seq" in board.app("door").write("Reading")
    curious.wait_topic(topics.app("door", "create", "Reading"))
    heard = {m.topic for m in curious.heard}
    assert not [t for t in heard if "thermo" in t or t.startswith("$SYS")], heard
    assert {t for t in heard if "/app/" not in t} <= {topics.BUS_SESSION, topics.BUS_HEALTH}
    curious.close()


def test_nobody_speaks_for_the_agent(board):
    board.live()
    door, forged = board.app("door"), b'{"state":"forged"}'
    for topic in (topics.BUS_SESSION, topics.BUS_HEALTH):
        for is_retained in (True, False):
            assert door.link.publish(topic, forged, retain=is_retained) == NOT_AUTHORIZED
        fresh = board.login("thermo", subscribe=(topic,))
        assert fresh.wait_topic(topic).payload != forged
        fresh.close()
    assert [m for m in board.watcher.heard if m.payload == forged] == []


@pytest.mark.parametrize("user, password", [
    (None, None), ("thermo", "wrong"), ("thermo", ""), ("postern-agent", "postern-agent"),
    ("stranger", "stranger"), ("+", "x"), ("thermo/../door", "x"),
])
def test_nobody_comes_in_without_a_password(board, user, password):
    with pytest.raises(Refused) as refusal:
        Link(Login(0, "a-stranger", user, password, board.bus.socket)).open()
    assert refusal.value.code in (0x86, NOT_AUTHORIZED)


def test_outcomes_never_go_to_anothers_folder(board):
    claimed = board.live()
    thermo, door = board.app("thermo"), board.app("door")
    for payload in (b"first", b"second"):
        door.link.publish(topics.app("door", "create", "Reading"), payload,
                          response_topic=topics.app("thermo", "answers"), correlation=b"mine")
    refused = door.wait_rejected()
    assert (refused["code"], refused["rule"]) == (105, "builtin:topic")
    assert "seq" in thermo.write("Reading", b"after")
    assert board.wait_data(claimed, b"after").user["seq"] == "1"
    assert [m for m in thermo.link.heard if m.correlation == b"mine"] == []
    assert [(r["app"], r["count"]) for r in board.status()["refusals"]] == [("door", 2)]


def test_the_shipped_list_lets_the_agent_read_what_the_broker_drops(board):
    board.live()
    until(lambda: board.status().get("bus", {}).get("dropped") == 0, "the broker to tell", 60)
    assert board.status()["bus"]["stored"] > 0


def test_the_shipped_route_works_and_is_the_bridges_alone(board):
    claimed = board.live()
    thermo, bridge = board.app("thermo"), board.app("zigbee").link
    assert thermo.link.publish("zigbee2mqtt/lamp", b"forged") == NOT_AUTHORIZED
    assert bridge.publish("zigbee2mqtt/lamp", b'{"state":"ON"}') < 0x80
    arrived = board.wait_data(claimed, b'{"state":"ON"}')
    assert arrived.topic == topics.data(claimed.iid, "Reading", "create")
    assert arrived.user["app"] == "zigbee"
    _assert_only(board, claimed, thermo, b'{"state":"ON"}')


def test_what_the_shipped_route_refuses_reaches_the_bridge_alone(board):
    board.live(scope={"default": "deny", "rules": []})
    thermo, bridge = board.app("thermo"), board.app("zigbee")
    assert bridge.link.publish("zigbee2mqtt/lamp", b"{}") < 0x80
    refused = bridge.wait_rejected()
    assert (refused["code"], refused["rule"]) == (119, "scope:default")
    assert (refused["class"], refused["op"]) == ("Reading", "create")
    assert refused["topic"] == "zigbee2mqtt/lamp"
    assert thermo.link.since(0, topics.app("thermo", "rejected")) == []


def test_a_packet_over_the_limit_harms_its_sender_alone(board):
    claimed = board.live()
    thermo, door = board.app("thermo"), board.app("door")
    door.link.publish(topics.app("door", "create", "Reading"), b"x" * 1_100_000, wait=False)
    until(lambda: not door.link.is_up, "the broker to cut the sender off")
    _assert_only(board, claimed, thermo)


def test_a_rogue_program_cannot_take_the_agents_place_at_the_broker(board):
    """Mosquitto hands a session to whoever has its client id: none can be guessed."""
    claimed = board.live()
    thermo = board.app("thermo")
    guesses = [f"postern-{claimed.iid}{end}" for end in ("", "-requests", "-answers")]
    board.agent.kill()
    for number in range(10):
        thermo.write_silently("Reading", b"while it is down %d" % number)
    _steal(board, guesses)
    board.start()
    for number in range(10):
        board.wait_data(claimed, b"while it is down %d" % number, timeout=40)
    _steal(board, guesses)
    assert "seq" in thermo.write("Reading")
    assert "the local broker" not in board.agent.log
    assert not board.client_ids() & set(guesses)


def _steal(board, client_ids) -> None:
    for client_id in client_ids:
        try:
            board.login("door", client_id=client_id, subscribe=("postern/#",)).close()
        except Refused:
            pass


def test_client_ids_outlive_a_restart_and_are_told_nowhere(board):
    board.live()
    before = until(lambda: len(board.client_ids()) == 2 and board.client_ids(), "both of them")
    board.agent.stop()
    board.start()
    assert "seq" in board.app("thermo").write("Reading")
    assert board.client_ids() == before
    told = [board.agent.log, board.command("status", "--json", ok=(0, 3, 5)),
            board.command("session", "show", "--json"),
            *(f"{m.topic} {m.payload!r}" for m in board.watcher.heard + board.observer.heard)]
    for name in before:
        secret = name.rpartition("-")[2] if name.count("-") == 2 else name[-22:]
        assert not [text for text in told if secret in text]


def test_whoever_knew_a_client_id_would_take_the_session(board):
    """Why they are secret. Should a later mosquitto refuse this, nothing is lost by it."""
    claimed = board.live()
    known = until(lambda: [c for c in board.client_ids() if "requests" in c], "its client id")[0]
    board.agent.kill()
    thermo = board.app("thermo")
    thermo.write_silently("Reading", b"taken")
    _steal(board, [known])
    board.start()
    assert "seq" in thermo.write("Reading", b"after")
    board.wait_data(claimed, b"after")
    assert [m.payload for m in board.data_heard()] == [b"after"]


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
