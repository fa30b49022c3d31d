"""The real `postern-agent`: what of its programs' writes leaves the board, and what does not."""

import json
import time

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.waiting import until
from conftest import assert_nothing_leaked
from postern_contract import names, topics

POLICY = """\
default = "allow"
[[rule]]
app = "thermo"
class = "Secret"
allow = []
[[rule]]
class = "Reading"
allow = ["create"]
"""


@pytest.mark.parametrize("payload", [
    b'{"celsius": 20.50, "celsius": 1e2 }', bytes(range(256)), b"", b"x" * 60_000,
    "Grüße ☃".encode(),
], ids=["JSON", "binary", "empty", "60 KB", "UTF-8"])
def test_write_arrives_byte_for_byte(bench, payload):
    board = bench.live()
    before = int(time.time() * 1000)
    outcome = bench.app().write("Reading", payload)
    arrived = bench.wait_data(board, payload)
    assert arrived.topic == topics.data(board.iid, "Reading", "create")
    assert arrived.payload == payload
    assert (arrived.qos, arrived.retain) == (1, False)
    assert arrived.user["sid"] == board.login.id
    assert arrived.user["app"] == "thermo"
    assert arrived.user["seq"] == str(outcome["seq"])
    # As right as the slowest exchange with its authority.
    assert before - 30_000 <= int(arrived.user["ts"]) <= time.time() * 1000 + 30_000


@pytest.mark.parametrize("op", ["update", "delete"])
def test_update_and_delete_name_their_record(bench, op):
    board = bench.live()
    outcome = bench.app().write("Reading", b'{"n":1}', op=op, object_id="a-Z_9")
    arrived = bench.wait_data(board, b'{"n":1}')
    assert arrived.topic == topics.data(board.iid, "Reading", op, "a-Z_9")
    assert arrived.user["seq"] == str(outcome["seq"])


def test_seq_rises_over_all_apps(bench):
    board = bench.live()
    apps = [bench.app("thermo"), bench.app("door")]
    given = [apps[n % 2].write("Reading", b"n%d" % n)["seq"] for n in range(10)]
    assert given == sorted(set(given))
    arrived = [bench.wait_data(board, b"n%d" % n) for n in range(10)]
    assert [int(m.user["seq"]) for m in arrived] == given
    assert [m.user["app"] for m in arrived] == ["thermo", "door"] * 5


def test_write_without_response_topic_arrives(bench):
    board = bench.live()
    bench.app().write_silently("Reading", b"silent")
    bench.wait_data(board, b"silent")


@pytest.mark.parametrize("class_name", [*names.PROTECTED_CLASSES, "_Installation", "_Foo"])
def test_protected_classes_are_refused(bench, class_name):
    bench.live()
    app = bench.app()
    for op, object_id in (("create", None), ("update", "a"), ("delete", "a")):
        refusal = app.write(class_name, b"{}", op=op, object_id=object_id)
        assert refusal["code"] == 119 and refusal["rule"] and refusal["error"]
        assert (refusal["class"], refusal["op"]) == (class_name, op)
    assert bench.data_heard() == []


def test_refusal_without_response_topic_goes_to_rejected(bench):
    bench.live()
    app = bench.app()
    app.write_silently("_User")
    rejected = app.wait_rejected()
    assert rejected["code"] == 119 and rejected["rule"]
    assert {"code", "error", "rule", "class", "op", "topic", "id"} <= set(rejected)
    assert rejected["topic"] == topics.app("thermo", "create", "_User")


@pytest.mark.parametrize("class_name", [
    "two words", "A" * 129, "A" * 200, "1Reading", "__User", "_", "Read-ing", "Read.ing",
    "\uff3f\uff35\uff53\uff45\uff52", "_Us\u0435r", "\u0405ession", "Reading\u200b", "Réading",
    "_User ", "%5FUser", "$SYS",
])
def test_bad_class_names_are_refused(bench, class_name):
    bench.live()
    refusal = bench.app().write(class_name)
    assert refusal["code"] == 103
    assert bench.data_heard() == []


@pytest.mark.parametrize("levels", [
    ("create", "_User", "..", "x"), ("create", "Reading", "x"), ("create", ""), ("create",),
    ("update", "Reading"), ("update", "Reading", ""), ("update", "Reading", "a b"),
    ("update", "Reading", "x" * 65), ("delete", "Reading", "é"), ("upsert", "Reading"),
    ("update", "_User", ""), ("create", "Reading", ""),
], ids="/".join)
def test_misshapen_topics_send_nothing(bench, levels):
    board = bench.live()
    app = bench.app()
    app.link.publish(topics.app("thermo", *levels), b"misshapen")
    app.write("Reading", b"after")
    bench.wait_data(board, b"after")
    assert [m.payload for m in bench.data_heard()] == [b"after"]


@pytest.mark.parametrize("app_name", ["Thermo", "a" * 33, "-a", "a_b", "thérmo"])
def test_bad_app_names_send_nothing(bench, app_name):
    board = bench.live()
    bench.watcher.publish(topics.app(app_name, "create", "Reading"), b"impostor")
    bench.app().write("Reading", b"after")
    bench.wait_data(board, b"after")
    assert [m.payload for m in bench.data_heard()] == [b"after"]


@pytest.mark.parametrize("response", [
    "postern/app/door/answers", "postern/session", "postern/app/thermo/create/Reading",
    "postern/app/thermo/get/session", "postern/app/thermo", "postern/app/thermofoo/x",
    "other/topic", "$SYS/x", "postern/v1/x",
])
def test_outcomes_go_nowhere_else(bench, response):
    bench.live()
    app = bench.app()
    app.link.publish(
        topics.app("thermo", "create", "_User"), b"{}", response_topic=response,
        correlation=b"marker",
    )
    app.write("Reading", b"after")
    assert [m.topic for m in bench.watcher.heard
            if m.topic == response and m.correlation == b"marker"] == []


def test_unclaimed_board_refuses_with_206(bench):
    bench.pair()
    bench.start()
    app = bench.app()
    assert app.write("Reading")["code"] == 206
    app.write_silently("Reading")
    assert app.wait_rejected()["code"] == 206
    session = bench.wait_session("unavailable")
    assert (session["reason"], session["code"]) == ("unclaimed", 206)


def test_retained_writes_are_not_read(bench):
    topic = topics.app("thermo", "create", "Reading")
    bench.watcher.publish(topic, b"retained", retain=True)
    board = bench.live()
    bench.agent.kill()
    bench.start()
    bench.app().write("Reading", b"live")
    bench.wait_data(board, b"live")
    assert [m.payload for m in bench.data_heard()] == [b"live"]


def test_policy_narrows(make_bench):
    bench = make_bench(policy=POLICY)
    board = bench.live()
    thermo, door = bench.app("thermo"), bench.app("door")
    refused = thermo.write("Secret")
    assert refused["code"] == 119 and refused["rule"]
    assert thermo.write("Reading", op="delete", object_id="a")["code"] == 119
    assert "seq" in door.write("Secret", b"of the door")
    bench.wait_data(board, b"of the door")
    explained = bench.command("policy", "explain", "thermo", "create", "Secret", "--json")
    assert json.loads(explained)


def test_scope_narrows_and_is_updated(bench):
    scope = {"default": "deny", "rules": [{"class": "Reading", "allow": ["create"]}]}
    board = bench.live(scope=scope)
    app = bench.app()
    assert "seq" in app.write("Reading")
    assert app.write("Door")["code"] == 119
    assert app.write("Reading", op="delete", object_id="a")["code"] == 119
    bench.authority.update(board, {"default": "allow", "rules": []})
    until(lambda: "seq" in app.write("Door"), "the wider scope", 60)
    bench.authority.update(board)
    bench.barrier(board)
    assert "seq" in app.write("Door")
    assert app.write("_User")["code"] == 119


def test_replayed_update_is_ignored(bench):
    board = bench.live()
    app = bench.app()
    bench.authority.update(board, {"default": "deny", "rules": []})
    until(lambda: app.write("Door").get("code") == 119, "the narrow scope", 60)
    narrow = [m for m in bench.observer.heard if m.topic == topics.inbox(board.iid)][-1]
    bench.authority.update(board, {"default": "allow", "rules": []})
    until(lambda: "seq" in app.write("Door"), "the wide scope", 60)
    bench.authority.send(board, narrow.payload)
    bench.barrier(board)
    assert "seq" in app.write("Door")


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
