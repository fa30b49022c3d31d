"""The real `postern-agent`: topics of programs that know nothing of Postern, brought in by routes.

The publisher is anybody at the board's broker: its own topics, QoS and response topics, no app.
"""

import json

import pytest

from agent_fixtures import make_bench  # noqa: F401, fixtures
from authority_records import board_rules
from bench.program import Program
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, house_settings  # noqa: F401, fixtures
from postern_contract import topics

ROUTES = """\
[[route]]
from = "zigbee2mqtt/+"
app = "zigbee"
class = "Reading"
op = "create"
[[route]]
from = "homeassistant/+/+/state"
app = "homeassistant"
class = "{1}"
op = "update"
object_id = "{2}"
[[route]]
from = "tele/+/SENSOR"
app = "tasmota"
class = "Energy"
op = "create"
to = "{data}/{1}"
[[route]]
from = "greenhouse/+/state"
app = "greenhouse"
class = "Reading"
op = "create"
to = "home/greenhouse/{1}"
"""
STATE = b'{"linkquality":81,"temperature":21.4}'


@pytest.fixture
def routed(make_bench):  # noqa: F811
    return make_bench(settings=ROUTES)


def rejected(board_bench, app: str, topic: str) -> dict:
    """What the app that a route stands for is told about a message on `topic`."""
    told = board_bench.watcher.wait(
        lambda m: m.topic == topics.app(app, "rejected")
        and json.loads(m.payload)["topic"] == topic, f"a rejection of {topic}")
    return json.loads(told.payload)


def upstream(board_bench) -> list:
    """All that is on the upstream broker and not of the contract's plumbing."""
    own = ("/status", "/inbox", "/outbox")
    return [m for m in board_bench.observer.heard if not m.topic.endswith(own)]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_zigbee_device_arrives_as_a_create(routed, qos):
    board = routed.live()
    routed.watcher.publish("zigbee2mqtt/hall lamp", STATE, qos=qos)
    arrived = routed.wait_data(board, STATE)
    assert arrived.topic == topics.data(board.iid, "Reading", "create")
    assert (arrived.qos, arrived.retain, arrived.payload) == (1, False, STATE)
    assert arrived.user["app"] == "zigbee"
    assert arrived.user["sid"] == board.login.id
    assert int(arrived.user["seq"]) > 0


def test_class_and_record_are_levels_of_the_topic(routed):
    board = routed.live()
    routed.watcher.publish("homeassistant/binary_sensor/hall_door/state", b"on")
    arrived = routed.wait_data(board, b"on")
    assert arrived.topic == topics.data(board.iid, "binary_sensor", "update", "hall_door")


def test_further_levels_follow_the_class_that_was_judged(routed):
    board = routed.live()
    routed.watcher.publish("tele/plug 1/SENSOR", STATE)
    arrived = routed.wait_data(board, STATE)
    assert arrived.topic == topics.data(board.iid, "Energy", "create") + "/plug 1"


@pytest.mark.parametrize("level", ["_User", "_Session", "_Role", "_Installation"])
def test_level_that_names_a_protected_class_is_refused(routed, level):
    routed.live()
    topic = f"homeassistant/{level}/x/state"
    routed.watcher.publish(topic, STATE)
    told = rejected(routed, "homeassistant", topic)
    assert told["code"] == 119 and told["rule"].startswith("builtin:")
    assert (told["class"], told["op"]) == (level, "update")
    assert upstream(routed) == []


@pytest.mark.parametrize("levels, code", [
    ("1st/x", 103), ("two words/x", 103), ("/x", 103), ("_Us\u0435r/x", 103),
    ("light/a b", 105), ("light/", 105), ("light/\u00e9", 105),
])
def test_levels_that_are_no_names_are_refused(routed, levels, code):
    routed.live()
    topic = f"homeassistant/{levels}/state"
    routed.watcher.publish(topic, STATE)
    told = rejected(routed, "homeassistant", topic)
    assert told["code"] == code and told["rule"].startswith("agent.toml:")
    assert upstream(routed) == []


def test_topics_without_a_route_and_retained_ones_send_nothing(routed):
    routed.watcher.publish("zigbee2mqtt/kept", b"beside", retain=True)
    board = routed.live()
    for topic in ("zigbee2mqtt", "zigbee2mqtt/a/set", "Zigbee2mqtt/a", "tele/a/STATE", "other"):
        routed.watcher.publish(topic, b"beside")
    routed.agent.kill()
    routed.start()
    routed.watcher.publish("zigbee2mqtt/a", b"after")
    routed.wait_data(board, b"after")
    assert [m.payload for m in upstream(routed)] == [b"after"]


def test_foreign_response_topic_is_not_answered(routed):
    board = routed.live()
    routed.watcher.publish("zigbee2mqtt/a", STATE, response_topic="zigbee2mqtt/answers",
                           correlation=b"marker")
    routed.wait_data(board, STATE)
    assert [m.topic for m in routed.watcher.heard if m.correlation == b"marker"] == [
        "zigbee2mqtt/a"]


@pytest.mark.parametrize("line, says", [
    ('from = "$SYS/#"', "never enter"), ('from = "$share/g/x"', "never enter"),
    ('from = "#"', "Postern's own"), ('from = "postern/app/+/create/#"', "Postern's own"),
    ('from = "zigbee2mqtt/#"', 'overlaps "zigbee2mqtt/+" of the route on line'),
])
def test_route_that_must_not_be_keeps_the_agent_from_starting(make_bench, line, says):  # noqa: F811
    bad = f'[[route]]\n{line}\napp = "bad"\nclass = "Reading"\nop = "create"\n'
    bench = make_bench(settings=ROUTES + bad)  # noqa: F811
    bench.agent.start()
    until(lambda: not bench.agent.is_running, "the agent to refuse its file", 60)
    assert says in bench.agent.log
    bench.command("pair", "--json", ok=(78,))


def test_wildcard_first_level_takes_in_no_dollar_topic(make_bench):  # noqa: F811
    route = '[[route]]\nfrom = "+/broker/uptime"\napp = "x"\nclass = "R"\nop = "create"\n'
    bench = make_bench(settings=route)  # noqa: F811
    board = bench.live()
    bench.watcher.publish("my/broker/uptime", b"mine")
    bench.wait_data(board, b"mine")
    assert [m.payload for m in bench.data_heard()] == [b"mine"]


@pytest.mark.parametrize("granted", [None, [], ["home/other/#"], ["home"]])
def test_topic_that_the_scope_does_not_grant_is_refused(routed, granted):
    scope = None if granted is None else {"default": "allow", "rules": [], "topics": granted}
    routed.live(scope=scope)
    routed.watcher.publish("greenhouse/lamp/state", STATE)
    told = rejected(routed, "greenhouse", "greenhouse/lamp/state")
    assert (told["code"], told["rule"]) == (119, "scope:topics")
    assert upstream(routed) == []


def test_granted_topic_arrives_with_the_contracts_properties(routed):
    board = routed.live(scope={"topics": ["home/greenhouse/+"]})
    routed.access.set_rules(board.iid, [*board_rules(board.iid), "write home/greenhouse/+"])
    routed.watcher.publish("greenhouse/lamp/state", STATE)
    arrived = routed.observer.wait_topic("home/greenhouse/lamp", timeout=60)
    assert (arrived.payload, arrived.qos, arrived.retain) == (STATE, 1, False)
    assert arrived.user["app"] == "greenhouse" and arrived.user["sid"] == board.login.id
    assert routed.data_heard() == []


def test_authority_grants_what_its_broker_then_takes(house, tmp_path):  # noqa: F811
    """Real authority, broker and board: the role that the scope made lets the message through."""
    scope = tmp_path / "scope.json"
    scope.write_text(json.dumps({"topics": ["home/greenhouse/+"]}))
    boards = {name: house.live(name, *claim, settings=ROUTES)
              for name, claim in (("granted", ("--scope", scope)), ("plain", ()))}
    assert house.consumer.is_up
    for board in boards.values():
        board.watcher.publish("greenhouse/lamp/state", STATE)
        board.watcher.publish("tele/plug/SENSOR", b"to the end")
    for board in boards.values():
        house.wait_data(board, {b"to the end"})
    assert rejected(boards["plain"], "greenhouse", "greenhouse/lamp/state")["code"] == 119
    granted = boards["granted"]
    until(lambda: granted.status()["queue"]["messages"] == 0, "the queue to be empty", 60)
    assert [m for m in granted.watcher.heard if m.topic.endswith("/rejected")] == []
    assert granted.status()["refusedUpstream"] == 0
    shown = {m.topic for m in house.data(granted)}
    assert shown == {topics.data(granted.iid, "Energy", "create") + "/plug"}


def test_watch_shows_levels_behind_the_class(house):  # noqa: F811
    board = house.live("watched", settings=ROUTES)
    argv = house.admin._argv(
        "watch", "--board", board.iid, "--count", "1", "--for", "60s", "--json")
    watch = Program("watch", argv, house.folder).start()
    until(lambda: "watching" in watch.log, "the watch to begin")
    board.watcher.publish("tele/plug/SENSOR", STATE)
    until(lambda: not watch.is_running, "the watch to end", 90)
    watch.close()
    line = json.loads(watch.out.read_text())
    assert (line["class"], line["op"], line["further"]) == ("Energy", "create", "plug")


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
