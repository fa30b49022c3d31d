"""Home Assistant finds the board: what it is told, and what its templates make of real messages."""

import datetime
import json

import jinja2
import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from agent_fixtures import make_bench  # noqa: F401, fixture
from bench.waiting import until
from postern_contract import topics

pytestmark = pytest.mark.slow

# Home Assistant, MQTT: Sensor, Binary sensor, and MQTT Discovery; the fields that we may use.
COMMON = {
    "name", "unique_id", "state_topic", "value_template", "availability_topic",
    "availability_template", "payload_available", "payload_not_available", "device", "origin",
    "device_class", "entity_category", "icon",
}
FIELDS = {
    "sensor": COMMON | {"options", "state_class", "unit_of_measurement"},
    "binary_sensor": COMMON,
}
DEVICE = {"identifiers", "name", "manufacturer", "model", "sw_version"}
SENSOR_CLASSES = {None, "enum", "timestamp"}


def as_datetime(value) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(float(value), datetime.UTC)


def render(template: str, payload: bytes) -> str:
    """As Home Assistant does: sandboxed, with the payload as `value_json`."""
    environment = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined)
    environment.filters["as_datetime"] = as_datetime
    return environment.from_string(template).render(value_json=json.loads(payload)).strip()


@pytest.fixture
def bench(make_bench):
    return make_bench(settings="[home_assistant]\ndiscovery = true\n")


def announced(bench) -> dict[str, dict]:
    """What stands below `homeassistant/`, by the last level but one."""
    found = {}
    for message in list(bench.watcher.heard):
        if message.topic.startswith("homeassistant/"):
            found[message.topic] = message.payload
    return {t: json.loads(p) for t, p in found.items() if p}


def wait_announced(bench) -> dict[str, dict]:
    """The sensors, once what they read was said, too: that comes behind them."""
    def found():
        heard = {m.topic for m in list(bench.watcher.heard)}
        sensors = announced(bench)
        return len(sensors) == 5 and {topics.BUS_SESSION, topics.BUS_HEALTH} <= heard and sensors

    return until(found, "five sensors", 60)


def last(bench, topic: str) -> bytes:
    return [m.payload for m in bench.watcher.heard if m.topic == topic][-1]


def shown(bench, object_id: str) -> str:
    """What Home Assistant would show of this sensor now."""
    configuration = next(
        c for t, c in announced(bench).items() if t.split("/")[-2] == object_id)
    return render(configuration["value_template"], last(bench, configuration["state_topic"]))


def test_each_sensor_is_one_that_home_assistant_takes(bench):
    bench.start()
    iid = bench.status()["installationId"]
    sensors = wait_announced(bench)
    assert len({c["unique_id"] for c in sensors.values()}) == len(sensors)
    for topic, c in sensors.items():
        prefix, component, node, object_id, word = topic.split("/")
        assert (prefix, node, word) == ("homeassistant", f"postern_{iid}", "config")
        assert c.keys() <= FIELDS[component], c.keys() - FIELDS[component]
        assert c["device"].keys() == DEVICE and c["device"]["identifiers"] == [node]
        assert c["device"]["name"] == "interop bench"
        assert c["origin"]["name"] == "postern-agent"
        if component == "sensor":
            assert c.get("device_class") in SENSOR_CLASSES
        assert render(c["availability_template"], last(bench, c["availability_topic"])) == "up"


def test_what_it_shows_follows_the_board(bench):
    bench.start()
    wait_announced(bench)
    until(lambda: shown(bench, "session") == "unclaimed", "an unclaimed board", 60)
    assert shown(bench, "expiry") == "None" and shown(bench, "uplink") == "OFF"
    assert shown(bench, "queue") == "0"
    bench.agent.stop()
    bench.live()
    until(lambda: shown(bench, "session") == "available", "a session", 60)
    until(lambda: shown(bench, "uplink") == "ON", "the uplink", 60)
    options = next(c["options"] for c in announced(bench).values() if "options" in c)
    assert {"available", "unclaimed", "revoked", "offline"} <= set(options)
    ends = bench.session_now["session"]["expiresAt"]
    expected = "None" if ends is None else as_datetime(ends).isoformat()
    assert shown(bench, "expiry") == expected
    bench.app().write("_User")
    until(lambda: shown(bench, "refused") == "1", "the refusal to be counted", 60)


def test_an_end_of_the_session_is_a_timestamp(bench):
    bench.start()
    expiry = next(c for t, c in wait_announced(bench).items() if "/expiry/" in t)
    payload = b'{"state":"available","session":{"expiresAt":1800000000},"validatedAt":1}'
    text = render(expiry["value_template"], payload)
    assert datetime.datetime.fromisoformat(text) == as_datetime(1800000000)


def test_it_says_when_the_board_is_away(bench):
    bench.start()
    wait_announced(bench)
    bench.agent.kill()

    def away() -> bool:
        c = next(iter(announced(bench).values()))
        return render(c["availability_template"], last(bench, topics.BUS_HEALTH)) == "down"

    until(away, "the last will to say so", 60)


def test_false_takes_the_sensors_back(make_bench):
    bench = make_bench(settings="[home_assistant]\ndiscovery = true\n")
    bench.start()
    wait_announced(bench)
    bench.agent.stop()
    config = bench.config / "agent.toml"
    config.write_text(config.read_text().replace("discovery = true", "discovery = false"))
    bench.start()
    until(lambda: not announced(bench), "nothing to be announced", 60)


def test_without_a_word_nothing_is_said(make_bench):
    bench = make_bench()
    bench.start()
    bench.app()
    until(lambda: any(m.topic == topics.BUS_HEALTH for m in bench.watcher.heard), "health")
    assert not [m for m in bench.watcher.heard if m.topic.startswith("homeassistant/")]
