"""Two RabbitMQ nodes in one cluster: boards pair, forward and are revoked through either one
while the other is killed and comes back.

The nodes are set as `Provisioning/broker/CLUSTERS.md` says, from the files beside it.
"""

import json
import socket
import time

import pytest

from bench.link import Link, Refused
from bench.rabbit_cluster import ClusterHouse
from bench.rabbitmq import missing
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import measure  # noqa: F401, a fixture
from postern_contract import topics

pytestmark = pytest.mark.slow

NODES = (1, 2)


@pytest.fixture(scope="module")
def house(tmp_path_factory, evidence, programs):
    assert not missing(), f"install Debian's rabbitmq-server: {missing()} is not there"
    house = ClusterHouse(tmp_path_factory.mktemp("cluster"), evidence, programs)
    yield house
    house.close()


@pytest.fixture(scope="module")
def board(house):
    """It knows the nodes by their name, as the authority does."""
    return house.live("greenhouse")


def came(listener: Link, board) -> set[bytes]:
    prefix = f"{topics.ROOT}/{board.iid}/data/"
    return {m.payload for m in listener.heard if m.topic.startswith(prefix)}


def assert_forwards(board, listener: Link, name: str, timeout: float = 30.0) -> None:
    payloads = {f'{{"{name}":{n}}}'.encode() for n in range(10)}
    for payload in sorted(payloads):
        assert "seq" in board.write(payload)
    until(lambda: payloads <= came(listener, board), f"all data of {name} to come", timeout)


def wait_cut(player, timeout: float = 60.0) -> None:
    until(lambda: not player.link.is_up, "the open connection to be cut", timeout)


def is_let_in(player) -> bool:
    try:
        Link(player.login(player.broker_password)).open().close()
        return True
    except (Refused, OSError, AssertionError):
        return False


@pytest.mark.parametrize("at", NODES)
def test_a_board_pairs_at_either_node_and_is_heard_at_the_other(house, at):
    board = house.live(f"pairs at {at}", at=at)
    assert_forwards(board, house.listener(house.cluster.other(at).number), f"from {at}")


@pytest.mark.parametrize("at", NODES)
def test_a_claim_waits_for_its_board_at_either_node(house, at):
    """What is retained is kept by no node: the authority repeats it to who comes."""
    player = house.player(f"waits for {at}", at)
    claim = house.claim(player.claim_url)
    player.connect(30).wait_held()
    claim.must_end()


@pytest.mark.parametrize("at", NODES)
def test_a_revocation_cuts_at_either_node(house, measure, at):
    player = house.live_player(f"cut at {at}", at)
    began = time.monotonic()
    house.revoke(player.held.session["objectId"])
    wait_cut(player)
    measure.milliseconds(f"from `sessions revoke` to the cut at node {at}",
                         time.monotonic() - began)


@pytest.mark.parametrize("at", NODES)
def test_a_board_that_was_away_hears_of_its_revocation_at_either_node(house, at):
    player = house.live_player(f"away, then at {at}", house.cluster.other(at).number)
    player.disconnect()
    house.revoke(player.held.session["objectId"])
    player.at, player.says_farewell = at, True
    player.connect()
    player.wait_opened("session.revoked")
    until(lambda: not is_let_in(player), "the login to go with the farewell", 60)


@pytest.mark.parametrize("lost", NODES)
def test_all_goes_on_through_one_node_while_the_other_is_lost(house, board, measure, lost):
    cluster = house.cluster
    node, left = cluster.node(lost), cluster.other(lost)
    led = node.leads()
    refugee, revoked = (house.live_player(name, lost) for name in ("refugee", "revoked"))
    deaf = house.live_player("deaf", left.number)
    node.kill()
    try:
        listener = house.listener(left.number)
        began = time.monotonic()
        assert_forwards(board, listener, f"while {lost} is lost", 60)
        measure.tell(f"node {lost} lost (leader: {led}), until ten new writes were heard",
                     f"{time.monotonic() - began:.1f} s")
        paired = house.live(f"pairs while {lost} is lost", at=left.number)
        assert_forwards(paired, listener, f"paired while {lost} is lost")
        for player in (refugee, revoked):
            player.at = left.number
            player.connect()
        refugee.beat()
        began = time.monotonic()
        for player in (revoked, deaf):
            house.revoke(player.held.session["objectId"])
            wait_cut(player)
        measure.tell("two revocations, each with its cut", f"{time.monotonic() - began:.1f} s")
        house.revoke(paired.session_id)
        paired.wait_session("unavailable", timeout=60)
        until(lambda: not paired.is_online(), "the board to be refused", 60)
    finally:
        began = time.monotonic()
        node.launch()
        node.rejoin()
        node.wait_ready()
    measure.tell(f"node {lost} is back and listens after", f"{time.monotonic() - began:.1f} s")
    assert_is_whole(house, board, lost)


def assert_is_whole(house, board, came_back: int) -> None:
    cluster = house.cluster
    for node in cluster.nodes:
        until(lambda: all(n.name in node.running() for n in cluster.nodes),
              "both nodes to see each other", 60)
    new = house.live(f"pairs at {came_back}, which is back", at=came_back)
    listener = house.listener(cluster.other(came_back).number)
    assert_forwards(new, listener, f"back at {came_back}")
    assert_forwards(board, listener, f"by name, with {came_back} back")
    house.revoke(new.session_id)
    new.wait_session("unavailable", timeout=60)


def test_who_hears_nothing_is_cut_when_the_nodes_can_vote_again(house, measure):
    """RabbitMQ ends no connection of the same client id while the vote has no majority, but for
    its subscriptions. One without any is cut later; the authority does not forget it."""
    cluster = house.cluster
    left = 1 if cluster.node(2).leads() else 2
    mute = house.live_player("mute", left)
    node = cluster.other(left)
    node.kill()
    try:
        mute.disconnect()
        until(lambda: _comes_without_inbox(mute), "the board to come", 60)
        house.revoke(mute.held.session["objectId"])
        until(lambda: f"tried again line={mute.iid}" in house.server.log,
              "the authority to see it", 60)
        assert mute.link.is_up
        other = house.live("pairs behind it", at=left)
        assert other.session_id
    finally:
        node.launch()
        node.rejoin()
        node.wait_ready()
    began = time.monotonic()
    wait_cut(mute, 60)
    measure.tell("cut after the node was back", f"{time.monotonic() - began:.1f} s")


def _comes_without_inbox(player) -> bool:
    player.link = Link(player.login(player.broker_password)).open()
    return player.link.is_up


def test_an_address_that_never_answers_stops_nobody(house, board, measure):
    """A name leads to a third machine as well, which takes connections and says nothing."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.3", house.cluster.tls_port))
        silent.listen(64)
        house.names_are("127.0.0.3", "127.0.0.1", "127.0.0.2")
        house.server.stop()
        began = time.monotonic()
        house.start()
        until(lambda: "connected to the broker" in house.server.log, "the authority", 60)
        measure.tell("the authority by the third address of a name",
                     f"{time.monotonic() - began:.1f} s")
        new = house.add_board("by the third address")
        url = new.pair()
        new.start()
        began = time.monotonic()
        house.admin.claim(url).must_end()
        new.wait_session("available", timeout=60)
        measure.tell("a claim of a board by such a name", f"{time.monotonic() - began:.1f} s")
    house.names_are("127.0.0.1", "127.0.0.2")


def test_the_programs_say_that_they_run_degraded(house, board):
    status = json.loads(board.command("status", "--json", ok=(3,)))
    assert status["degraded"] is True and "3.1.1" in status["uplinkNote"]


def test_nothing_leaked(house, evidence):
    assert_nothing_leaked(evidence)
