"""`postern.mqtt`: a program with paho-mqtt, of which one line was changed."""

import json

import postern
import postern.mqtt as mqtt
import pytest
from paho.mqtt.properties import Properties

from bench.waiting import until
from conftest import assert_nothing_leaked
from python_fixtures import board, login, records  # noqa: F401, fixtures

WRITE = "postern/app/thermo/create/Reading"
DENIES = 'default = "deny"\n[[rule]]\nclass = "Reading"\nallow = ["create"]\n'


@pytest.fixture(params=["VERSION1", "VERSION2"])
def client(request, board):
    """Connected by TCP, with paho's loop running, and what its callbacks were called with."""
    client = mqtt.Client(getattr(mqtt.CallbackAPIVersion, request.param))
    client.username_pw_set("thermo", board.bus.passwords["thermo"])
    client.published, client.rejected, client.heard = [], [], []
    client.on_publish = lambda own, data, mid, *more: client.published.append(mid)
    client.on_reject = lambda own, data, mid, error: client.rejected.append((mid, error))
    client.on_message = lambda own, data, message: client.heard.append(message)
    client.max_queued_messages_set(50)
    client.connect("127.0.0.1", board.bus.port)
    client.loop_start()
    yield client
    client.disconnect()
    client.loop_stop()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_publish_is_over_when_the_write_is_safe(board, client):
    board.live()
    infos = [client.publish(f"postern/app/thermo/{topic}", payload) for topic, payload in (
        ("create/Reading", '{"celsius":21.5}'), ("update/Reading/r1", b'{"celsius":22}'),
        ("delete/Reading/r1", "{}"))]
    for info in infos:
        info.wait_for_publish(30)
        assert info.is_published() and info.error is None
    assert sorted(info.seq for info in infos) == [1, 2, 3]
    until(lambda: sorted(client.published) == sorted(i.mid for i in infos), "callbacks", 60)
    until(lambda: len(records(board)) == 3, "the writes upstream", 60)
    assert not client.rejected


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_refused_publish_raises_and_calls_back(board, client):
    policy = board.config / "policy.toml"
    policy.write_text(DENIES)
    policy.chmod(0o640)
    board.live()
    info = client.publish("postern/app/thermo/create/Camera", "{}")
    with pytest.raises(postern.Refused) as found:
        info.wait_for_publish(30)
    assert found.value.code == 119 and not info.is_published() and info.seq is None
    until(lambda: [mid for mid, _ in client.rejected] == [info.mid], "the callback", 60)
    assert not client.published
    for topic in ("create/Reading/r1", "create/a+b", "update/Reading", "delete/Reading/a/b"):
        with pytest.raises(ValueError):
            client.publish(f"postern/app/thermo/{topic}", "{}")
    with pytest.raises(ValueError, match="another"):
        client.publish("postern/app/pump/create/Reading", "{}")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_writes_outlive_agent_and_bus(board, client):
    board.live()
    infos = [client.publish(WRITE, json.dumps({"n": 0}))]
    infos[0].wait_for_publish(30)
    for kill, start in ((board.agent.kill, board.start),
                        (board.bus.program.kill, board.bus.start)):
        infos += [client.publish(WRITE, json.dumps({"n": len(infos) + n})) for n in range(10)]
        kill()
        infos += [client.publish(WRITE, json.dumps({"n": len(infos) + n})) for n in range(10)]
        start()
    for info in infos:
        info.wait_for_publish(120)
        assert info.is_published(), info
    until(lambda: len(records(board)) >= len(infos), "all upstream", 60)
    assert records(board) == sorted((i.seq, {"n": n}) for n, i in enumerate(infos))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_other_messages_are_as_they_were(board, client):
    board.live()
    client.subscribe([("postern/session", 1), ("postern/app/thermo/rejected", 1)])
    until(lambda: "postern/session" in [m.topic for m in client.heard], "the session", 60)
    client.publish("postern/app/thermo/get/nothing", "", qos=1).wait_for_publish(30)
    until(lambda: [m for m in client.heard if m.topic.endswith("rejected")], "the answer", 60)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_key_of_the_program_is_the_key(board, client):
    board.live()
    keyed = Properties(mqtt.PacketTypes.PUBLISH)
    keyed.UserProperty = ("key", "noon")
    infos = [client.publish(WRITE, "{}", properties=keyed) for _ in range(2)]
    for info in infos:
        info.wait_for_publish(30)
    assert infos[0].seq == infos[1].seq == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_writes_without_an_answer_are_limited_and_end(board, client):
    board.live()
    board.agent.kill()
    *_, second, last = [client.publish(WRITE, "{}") for _ in range(51)]
    assert (second.rc, last.rc) == (mqtt.MQTT_ERR_SUCCESS, mqtt.MQTT_ERR_QUEUE_SIZE)
    with pytest.raises(ValueError):
        last.wait_for_publish(1)
    second.wait_for_publish(0.1)
    assert not second.is_published()
    client.disconnect()
    with pytest.raises(postern.Unavailable):
        second.wait_for_publish(30)


def test_before_connect_nothing_is_queued():
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    with pytest.raises(RuntimeError):
        client.publish(WRITE, "{}").wait_for_publish(1)


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
