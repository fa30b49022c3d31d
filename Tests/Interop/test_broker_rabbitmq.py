"""A house on RabbitMQ, which has no list of clients and asks the authority about each, over HTTP.

Debian's RabbitMQ speaks MQTT 3.1.1: all works, and the programs say that they run degraded.
"""

import dataclasses
import http.client
import json
import socket
import struct
import time
import urllib.parse

import pytest

from bench.link import Link, Login, Refused
from bench.rabbitmq import RabbitHouse, missing
from bench.waiting import until
from board_player import BoardPlayer
from conftest import assert_nothing_leaked
from house_fixtures import measure  # noqa: F401, a fixture
from postern_contract import messages, names, topics

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def house(tmp_path_factory, evidence, programs):
    assert not missing(), f"install Debian's rabbitmq-server: {missing()} is not there"
    house = RabbitHouse(tmp_path_factory.mktemp("rabbit"), evidence, programs)
    yield house
    house.close()


@pytest.fixture(scope="module")
def board(house):
    """A real agent with a session, on its new broker password."""
    return house.live("greenhouse")


class OldPlayer(BoardPlayer):
    """A played board that speaks 3.1.1."""

    def login(self, password: str | None = None) -> Login:
        return dataclasses.replace(super().login(password), version="3.1.1")


@pytest.fixture(scope="module")
def player(house) -> OldPlayer:
    """Claimed and accepted; it stays deaf to a revocation."""
    player = OldPlayer(house.port, house.evidence, "player")
    house.boards.append(player)
    player.says_farewell = False
    claim = house.claim(player.claim_url)
    player.connect(30).wait_held()
    claim.must_end()
    player.settle().beat()
    return player


@pytest.fixture
def consumer(house) -> Link:
    """What `postern watch` would be."""
    status, access = house.admin.http("POST", "/postern/v1/broker")
    assert status in (200, 201), access
    house.evidence.add_secret("a consumer's broker password", access["password"])
    link = Link(Login(house.port, access["clientId"], access["username"], access["password"],
                      version="3.1.1"), journal=house.evidence.journal).open()
    for topic_filter in access["filters"]:
        assert link.subscribe(topic_filter) < 0x80
    yield link
    link.close()


def can_log_in(login: Login) -> bool:
    try:
        Link(login).open().close()
        return True
    except Refused:
        return False


def is_taken(act) -> bool:
    """Whether the broker did what it was asked; one that does not hangs up, or says 0x80."""
    try:
        return act() < 0x80
    except ConnectionError:
        return False


def amqp_answer(port: int, username: str, password: str) -> tuple[int, int]:
    """Class and method of what RabbitMQ says to an AMQP 0-9-1 login; (10, 30) lets it go on."""
    def frame() -> bytes:
        head = stream.read(7)
        return stream.read(struct.unpack(">I", head[3:])[0] + 1)[:-1] if len(head) == 7 else b""

    def short(text: str) -> bytes:
        return bytes([len(text)]) + text.encode()

    response = f"\0{username}\0{password}".encode()
    body = (struct.pack(">HHI", 10, 11, 0) + short("PLAIN")
            + struct.pack(">I", len(response)) + response + short("en_US"))
    with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
        stream = link.makefile("rb")
        link.sendall(b"AMQP\0\0\x09\x01")
        assert struct.unpack(">HH", frame()[:4]) == (10, 10), "Connection.Start"
        link.sendall(b"\x01\0\0" + struct.pack(">I", len(body)) + body + b"\xce")
        try:
            answer = frame()
        except ConnectionResetError:
            answer = b""
    return struct.unpack(">HH", answer[:4]) if answer else (0, 0)


def test_a_board_pairs_and_forwards(house, board, consumer, measure):
    payloads = {b'{"celsius":%d}' % n for n in range(50)}
    began = time.monotonic()
    for payload in sorted(payloads):
        assert "seq" in board.write(payload)
    own = topics.data(board.iid, "Reading", "create")

    def came() -> set[bytes]:
        return {m.payload for m in consumer.heard if m.topic == own}

    until(lambda: payloads <= came(), "all data to come", 60)
    measure.tell("50 writes, each awaited, through RabbitMQ", f"{time.monotonic() - began:.2f} s")
    assert came() == payloads


def test_the_programs_say_that_they_run_degraded(house, board):
    status = json.loads(board.command("status", "--json", ok=(3,)))
    assert status["degraded"] is True and "3.1.1" in status["uplinkNote"]
    assert "degraded: the broker speaks only MQTT 3.1.1" in house.server.log
    watch = house.cli("watch", "--for", "1s")
    assert watch.returncode == 3 and "3.1.1" in watch.stderr, watch.stderr


def test_the_session_goes_on_over_it(house, board):
    """Heartbeat, list, extension and status: all that board and authority say to each other."""
    shown = next(b for b in house.cli_json("boards", "list", "--everyone")
                 if b["installationId"] == board.iid)
    assert shown["status"] == "up"
    listed = board.app("reader").get("sessions")
    assert board.session_id in json.dumps(listed)


def test_a_consumer_reads_what_it_names_and_is_cut_when_removed(house, board, player, measure):
    made = house.cli_json("consumers", "add", "hall", "--boards", board.iid, "--classes", "Reading")
    house.evidence.texts.pop()
    house.evidence.add_secret("the password of the consumer hall", made["password"])
    assert "BEGIN CERTIFICATE" in made["ca"] and made["fingerprint"].startswith("SHA256:")
    own = f"postern/v1/{board.iid}"
    assert made["topics"] == [f"{own}/data/Reading/#", f"{own}/status"]
    login = Login(house.port, made["clientId"], made["username"], made["password"],
                  version="3.1.1")

    def opened() -> Link:
        return Link(login, journal=house.evidence.journal).open()

    for topic_filter in ("#", f"{own}/data/#", f"{own}/inbox", topics.status(player.iid),
                         "postern/v1/+/data/Reading/#", "postern/v1/+/status"):
        link = opened()
        assert not is_taken(lambda: link.subscribe(topic_filter)), topic_filter
        link.close()
    link = opened()
    assert not is_taken(lambda: link.publish(f"{own}/data/Reading/create", b"x"))
    link.close()
    assert not can_log_in(dataclasses.replace(login, client_id="another"))
    link = opened()
    for topic_filter in made["topics"]:
        assert link.subscribe(topic_filter) < 0x80
    assert "seq" in board.write(b'{"celsius":3}')
    link.wait_topic(topics.data(board.iid, "Reading", "create"))
    began = time.monotonic()
    assert house.cli("consumers", "remove", "hall").returncode == 0
    until(lambda: not link.is_up, "the open connection to be cut", 60)
    measure.milliseconds("from `consumers remove` to the cut", time.monotonic() - began)
    assert not can_log_in(login)


def test_a_board_is_only_itself(house, player):
    login = player.login(player.broker_password)
    assert not can_log_in(player.login("x" * 43)), "a wrong password"
    assert not can_log_in(player.login()), "the derived password, once the new one is set"
    for client_id in (f"postern-{names.new_iid()}", f"postern-authority-{'a' * 11}", "other"):
        assert not can_log_in(dataclasses.replace(login, client_id=client_id)), client_id
    assert not can_log_in(dataclasses.replace(login, username="authority")), "our own login"
    assert not can_log_in(dataclasses.replace(login, username=f"other:{player.iid}")), \
        "another virtual host"


def test_a_board_reaches_its_own_topics_alone(house, board, player):
    other, root = board.iid, topics.ROOT
    refused = [
        lambda p: p.link.subscribe(topics.inbox(other)),
        lambda p: p.link.subscribe(f"{root}/+/inbox"),
        lambda p: p.link.subscribe(f"{root}/*/inbox"),
        lambda p: p.link.subscribe(f"{root}.{other}.inbox"),
        lambda p: p.link.subscribe("#"),
        lambda p: p.link.subscribe(topics.outbox(player.iid)),
        lambda p: p.link.publish(topics.outbox(other), b"x"),
        lambda p: p.link.publish(topics.data(other, "Reading", "create"), b"x"),
        lambda p: p.link.publish(f"{root}.{other}.outbox", b"x"),
        lambda p: p.link.publish(topics.inbox(player.iid), b"x"),
        lambda p: p.link.publish("elsewhere", b"x"),
    ]
    for act in refused:
        player.connect()
        assert not is_taken(lambda: act(player))
    player.connect()
    assert is_taken(lambda: player.publish_data("Reading", "create", b"mine"))


def test_nobody_comes_in_by_amqp(house, player):
    port = house.rabbit.amqp_port
    for user, password in (
        (player.iid, player.broker_password), ("guest", "guest"),
        ("authority", house.broker_password.read_text()),
    ):
        assert amqp_answer(port, user, password) != (10, 30), user


def test_a_question_is_answered_at_once(house, player, measure):
    """Each packet to a topic that the broker has not asked about yet waits for an answer."""
    path = f"{house.questions}/topic".partition(str(house.http_port))[2]
    form = urllib.parse.urlencode({
        "username": player.iid, "vhost": "/", "resource": "topic", "name": "amq.topic",
        "permission": "write", "routing_key": f"postern.v1.{player.iid}.outbox"})
    link = http.client.HTTPConnection("127.0.0.1", house.http_port, timeout=60)
    spans = []
    for _ in range(200):
        began = time.monotonic()
        link.request("POST", path, form)
        answer = link.getresponse().read()
        spans.append(time.monotonic() - began)
        assert answer == b"allow"
    link.close()
    measure.milliseconds("a question about a topic, the median", sorted(spans)[100])


def test_a_revocation_cuts_a_connection_that_does_not_listen(house, player, measure):
    player.connect()
    assert is_taken(lambda: player.publish_data("Reading", "create", b"before"))
    began = time.monotonic()
    house.revoke(player.held.session["objectId"])
    until(lambda: not player.link.is_up, "the open connection to be cut", 60)
    measure.milliseconds("from `sessions revoke` to the cut", time.monotonic() - began)
    player.connect()
    player.wait_opened("session.revoked")
    assert not is_taken(lambda: player.publish_data("Reading", "create", b"after")), \
        "only the farewell is left"
    over = next(m for m in player.opened if m["type"] == "session.revoked")
    farewell = player.connect().seal(messages.new(
        "session.ended", re=over["id"], sessionId=over["sessionId"]))
    # The cut that it brings about may be quicker than its PUBACK.
    is_taken(lambda: player.link.publish(topics.outbox(player.iid), farewell))
    login = player.login(player.broker_password)
    until(lambda: not can_log_in(login), "the login to go with the farewell", 60)


def test_a_revoked_board_is_out_and_down(house, consumer):
    board = house.live("cellar", **house.by_tls)
    mark = consumer.mark()
    house.revoke(board.session_id)
    board.wait_session("unavailable", timeout=60)

    def is_down(message) -> bool:
        return (message.topic == topics.status(board.iid)
                and json.loads(message.payload)["status"] == "down")

    consumer.wait(is_down, "status down", since=mark, timeout=60)
    until(lambda: not board.is_online(), "the board to be refused", 60)
    assert json.loads(board.command("status", "--json", ok=(4, 5)))["state"] != "available"


def test_a_board_takes_another_session(house, board):
    old, mark = board.session_id, board.watcher.mark()
    house.admin.claim(board.pair("--new")).must_end()
    said = board.wait_session("available", since=mark, timeout=60)
    assert said["session"]["objectId"] != old
    assert "seq" in board.write(b'{"celsius":-1}')


def test_what_was_held_leaves_under_the_next_session(house, board, consumer):
    """It is sent as soon as the board has accepted, when the broker may not yet let it pass."""
    board.cable.pull()
    held = {b'{"celsius":%d}' % n for n in range(100, 120)}
    for payload in sorted(held):
        assert "seq" in board.write(payload)
    house.revoke(board.session_id)
    mark = board.watcher.mark()
    board.cable.plug()
    board.wait_session("unavailable", since=mark, timeout=60)
    mark = board.watcher.mark()
    house.admin.claim(board.pair("--new")).must_end()
    board.wait_session("available", since=mark, timeout=60)
    until(lambda: held <= {m.payload for m in consumer.heard}, "what was held to come", 60)
    until(lambda: board.status()["queue"]["messages"] == 0, "the queue to be empty", 60)
    assert board.status()["dead"] == 0


def test_the_authority_comes_back(house, board, consumer):
    house.server.stop()
    board.write(b'{"celsius":77}')
    house.start()
    until(lambda: "connected to the broker" in house.server.log, "the broker to be reached", 60)
    until(lambda: b'{"celsius":77}' in {m.payload for m in consumer.heard}, "data to come", 60)
    house.revoke(board.session_id)
    board.wait_session("unavailable", timeout=60)


def test_nothing_leaked(house, evidence):
    assert_nothing_leaked(evidence)
