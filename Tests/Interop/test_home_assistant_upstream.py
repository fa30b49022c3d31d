"""Home Assistant at the boards' broker: the authority announces what real boards send."""

import json
import sqlite3

import jinja2
import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bench.house import House
from bench.link import Link, Login
from bench.waiting import until
from house_fixtures import house, house_settings, measure  # noqa: F401, fixtures
from postern_contract import topics

pytestmark = pytest.mark.slow

SETTINGS = "[home_assistant]\ndiscovery = true\n"
POLICY = """\
[[rule]]
class = "Reading"
allow = ["create"]
[rule.fields]
celsius = "number(-60..125, °C)"
humidity = "number(0..100, %)?"
"room?" = { lux = "number(lx)?" }
note = "string?"
wet = "boolean?"
"""
# Home Assistant's own filters: of 2024.3, and of later releases.
ASKED = ["homeassistant/+/+/config", "homeassistant/+/+/+/config",
         "homeassistant/sensor/+/config", "homeassistant/sensor/+/+/config", "homeassistant/#"]

# From the schemas of Home Assistant 2024.3.3, components/mqtt (sensor.py, mixins.py) and
# components/sensor/const.py: the members that we use, each with the values that it takes.
MEMBERS = {
    "name": str, "unique_id": str, "state_topic": str, "value_template": str,
    "availability_topic": str, "availability_template": str, "expire_after": int,
    "state_class": str, "device_class": str, "unit_of_measurement": str, "device": dict,
    "origin": dict,
}
REQUIRED = {"state_topic"}
DEVICE = {"identifiers", "name", "manufacturer"}
ORIGIN = {"name", "sw_version"}
STATE_CLASSES = {"measurement", "total", "total_increasing"}
UNITS_OF_CLASS = {"temperature": {"°C", "°F", "K"}, "humidity": {"%"}, "illuminance": {"lx"}}


@pytest.fixture(scope="module")
def house_settings() -> str:  # noqa: F811
    return SETTINGS


def check(topic: str, message: dict) -> None:
    """Whether Home Assistant takes it."""
    prefix, component, node, object_id, word = topic.split("/")
    assert (prefix, component, word) == ("homeassistant", "sensor", "config")
    for part in (node, object_id):
        assert part and all(c.isascii() and (c.isalnum() or c in "_-") for c in part)
    assert REQUIRED <= message.keys() <= MEMBERS.keys()
    assert all(type(value) is MEMBERS[name] for name, value in message.items())
    assert message["device"].keys() == DEVICE and message["device"]["identifiers"]
    assert message["origin"].keys() == ORIGIN
    assert message["state_class"] in STATE_CLASSES
    if "device_class" in message:
        assert message["unit_of_measurement"] in UNITS_OF_CLASS[message["device_class"]]


def render(template: str, payload: bytes) -> str:
    """As Home Assistant does: sandboxed, with the payload as `value_json` if it is JSON."""
    environment = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined)
    return environment.from_string(template).render(value_json=json.loads(payload)).strip()


def add_consumer(person, name: str, *more) -> dict:
    made = json.loads(person.must("consumers", "add", name, *more, "--json"))
    person.house.evidence.add_secret(f"the password of {name}", made["password"])
    person.house.evidence.texts.pop()
    return made


def connect(house, made: dict) -> Link:  # noqa: F811
    login = Login(house.port, made["clientId"], made["username"], made["password"])
    return Link(login, journal=house.evidence.journal).open()


def home_assistant(house, made: dict) -> Link:  # noqa: F811
    """A program that asks for what Home Assistant asks for."""
    link = connect(house, made)
    for topic in ASKED:
        assert link.subscribe(topic) < 0x80, topic
    return link


def announced(link: Link) -> dict[str, dict]:
    """The newest message of each topic, without those that were removed."""
    newest = {m.topic: m.payload for m in list(link.heard) if m.topic.endswith("/config")}
    return {topic: json.loads(payload) for topic, payload in newest.items() if payload}


def topic_of(board, field: str) -> str:
    return f"homeassistant/sensor/{board.iid}/Reading-{field}/config"


def wait_topics(link: Link, expected: set[str]) -> dict[str, dict]:
    until(lambda: announced(link).keys() == expected,
          f"{sorted(expected)} to be announced", 90, lambda: str(announced(link)))
    return announced(link)


def sensors_in_store(house) -> list[str]:  # noqa: F811
    path = house.folder / "state" / "authority.db"
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
    try:
        return [ids for (ids,) in database.execute("SELECT ids FROM sensors")]
    finally:
        database.close()


def test_numbers_become_sensors_of_their_owner_until_the_release(house):  # noqa: F811
    cleo = house.user("cleo", "--claim")
    board = house.live("greenhouse", policy=POLICY)
    own = add_consumer(house.admin, "own")
    assert own["topics"] == ["postern/v1/+/data/#", "postern/v1/+/status",
                             "homeassistant/sensor/+/+/config"]
    named = add_consumer(house.admin, "named", "--boards", "greenhouse")
    narrow = add_consumer(house.admin, "narrow", "--classes", "Reading")
    assert not [t for t in narrow["topics"] if "homeassistant" in t]
    stranger = add_consumer(cleo, "stranger")
    links = [home_assistant(house, made) for made in (own, named, stranger)]
    payload = b'{"celsius":21.5,"humidity":40,"room":{"lux":7},"note":"dry","wet":true}'
    assert "seq" in board.write(payload)
    expected = {topic_of(board, f) for f in ("celsius", "humidity", "room_2elux")}
    for link in links[:2]:
        found = wait_topics(link, expected)
    for topic, message in found.items():
        check(topic, message)
        assert message["device"]["name"] == "greenhouse"
    meanings = {(m["device_class"], m["unit_of_measurement"]) for m in found.values()}
    assert meanings == {("temperature", "°C"), ("humidity", "%"), ("illuminance", "lx")}

    # What Home Assistant then reads, and shows.
    link = links[0]
    for message in found.values():
        for topic in (message["state_topic"], message["availability_topic"]):
            assert link.subscribe(topic) < 0x80, topic
    mark = link.mark()
    assert "seq" in board.write(b'{"celsius":22.5}')
    data = topics.data(board.iid, "Reading", "create")
    # The write before may come once more.
    heard = link.wait(lambda m: m.topic == data and b"22.5" in m.payload, "the new value",
                      since=mark, timeout=60)
    values = {topic: render(m["value_template"], heard.payload) for topic, m in found.items()}
    assert values == {t: "22.5" if t == topic_of(board, "celsius") else "" for t in expected}
    status = link.wait_topic(topics.status(board.iid), timeout=60)
    assert render(found[topic_of(board, "celsius")]["availability_template"],
                  status.payload) == "online"

    # Nobody else reads them, and nobody but the authority writes there.
    assert announced(links[2]) == {}
    other = connect(house, narrow)
    for topic in [*ASKED, *expected]:
        assert other.subscribe(topic) >= 0x80, topic
    for topic in ("#", "+/#", "+/sensor/#", "$share/x/homeassistant/#"):
        assert link.subscribe(topic) >= 0x80, topic
    player = house.live_board("player")
    for writer in (link, other, player.link):
        assert writer.publish(topic_of(board, "celsius"), b"{}", retain=True) >= 0x80

    # A release removes them, and Home Assistant hears of it.
    house.admin.must("boards", "release", board.iid)
    for link in links[:2]:
        wait_topics(link, set())
    assert announced(links[2]) == {}
    until(lambda: sensors_in_store(house) == [], "the store to forget them", 60)
    late = home_assistant(house, add_consumer(house.admin, "late"))
    assert late.subscribe("postern/v1/+/status") < 0x80
    late.wait_topic(topics.status(player.iid), timeout=60)
    assert announced(late) == {}
    for link in (*links, other, late):
        link.close()


def test_a_lost_field_and_a_lost_broker_are_put_right(tmp_path, evidence, programs):
    house = House(tmp_path, evidence, programs, SETTINGS)  # noqa: F811
    try:
        board = house.live("barn")
        assert "seq" in board.write(b'{"celsius":20,"lux":7}')
        made = add_consumer(house.admin, "own")
        link = home_assistant(house, made)
        wait_topics(link, {topic_of(board, "celsius"), topic_of(board, "lux")})
        link.close()
        house.server.stop()
        with sqlite3.connect(house.folder / "state" / "data.db") as database:
            assert database.execute("DELETE FROM series WHERE field = 'lux'").rowcount == 1
        database.close()
        # The broker's retained messages, among other things.
        (house.folder / "state" / "broker" / "mosquitto.db").unlink()
        house.start()
        link = home_assistant(house, made)
        wait_topics(link, {topic_of(board, "celsius")})
        link.close()
        house.server.stop()

        path = house.config / "authority.toml"
        path.write_text(path.read_text().replace("discovery = true", "discovery = false"))
        house.start()
        until(lambda: sensors_in_store(house) == [], "the store to forget them", 60)

        def is_refused() -> bool:
            link = connect(house, made)
            try:
                return link.subscribe("homeassistant/#") >= 0x80
            finally:
                link.close()

        until(is_refused, "the broker to refuse the topics", 60)
    finally:
        house.close()


def test_without_records_there_are_no_sensors_and_the_start_says_so(tmp_path, evidence, programs):
    with pytest.raises(AssertionError) as failed:
        House(tmp_path, evidence, programs, '[data]\nkeep = "0"\n' + SETTINGS)
    assert "home_assistant.discovery" in str(failed.value)
