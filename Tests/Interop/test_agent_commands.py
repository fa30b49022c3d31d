"""The real `postern-agent`: commands of an authority for apps, over real brokers."""

import json
import random
import threading
import time

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.link import Link
from bench.waiting import until
from conftest import assert_nothing_leaked
from postern_contract import topics

POLICY = """\
default = "allow"
[app.heater]
commands = true
command_fields = { celsius = "number(5..30)" }
command_rate = "1000/s"
[app.lamp]
commands = true
command_rate = "1/h"
[app.door]
max_bytes = 100
"""
SEED = 20261126


class Heater:
    """An app that counts what it gets, and answers each command unless it is mute."""

    def __init__(self, bench, name: str = "heater", *, is_mute: bool = False):
        self.name = name
        self.is_mute = is_mute
        self.got: list[dict] = []
        self.messages: list = []
        self.link = Link(
            bench.app_login(name), journal=bench.evidence.journal, on_message=self._heard,
            subscribe=(topics.app(name, "command"), topics.app(name, "rejected"))).open()

    def _heard(self, message) -> None:
        if message.topic != topics.app(self.name, "command"):
            return
        body = json.loads(message.payload)
        self.messages.append(message)
        self.got.append(body)
        if not self.is_mute:
            self.answer(body["id"], {"done": body["command"]}, wait=False)

    def answer(self, command: str, content: object, **how) -> int | None:
        return self.link.publish(
            topics.app(self.name, "answer", command), json.dumps(content), **how)

    def close(self) -> None:
        self.link.close()


@pytest.fixture
def heater():
    """Makes apps that are closed after the test."""
    made = []

    def make(bench, *arguments, **options) -> Heater:
        made.append(Heater(bench, *arguments, **options))
        return made[-1]

    yield make
    for app in made:
        app.close()


@pytest.fixture
def ruled(make_bench):
    bench = make_bench(policy=POLICY)
    # A started agent connects at once.
    agent = bench.config / "agent.toml"
    agent.write_text(agent.read_text().replace("[uplink]\n", '[uplink]\nspread = "0s"\n'))
    return bench


def test_a_command_is_delivered_and_its_answer_comes_back(ruled, heater):
    board, app = ruled.live(), heater(ruled)
    command = ruled.authority.command(board, "heater", {"celsius": 21})
    result = ruled.authority.wait_result(command)
    assert (result["state"], result["answer"]) == ("answered", {"done": {"celsius": 21}})
    assert result["sessionId"] == board.login.id
    assert app.got == [
        {"id": command["id"], "deadline": command["deadline"], "command": {"celsius": 21}}]
    message = app.messages[0]
    assert (message.qos, message.retain, message.user) == (1, False, {"from": "agent"})
    assert 1 <= message.expiry <= 60
    ruled.authority.send_again(board, command)
    ruled.barrier(board)
    assert len(app.got) == 1


def test_a_command_is_delivered_once_whenever_the_agent_is_killed(ruled, heater):
    board, app = ruled.live(), heater(ruled)
    draw, commands = random.Random(SEED), []
    for _ in range(8):
        command = ruled.authority.command(
            board, "heater", {"celsius": 20}, wait=600)
        commands.append(command)
        time.sleep(draw.uniform(0, 0.05))
        ruled.agent.kill()
        mark = ruled.authority.mark()
        ruled.start()
        ruled.authority.wait_request("session.authenticate", since=mark)

        def told(command=command) -> bool:
            ruled.authority.send_again(board, command)
            ruled.barrier(board)
            return bool(ruled.authority.results(command))

        until(told, "any result of the command", 60)
    for command in commands:
        states = {r["state"] for r in ruled.authority.results(command)}
        uncertain = any("uncertain" in r for r in ruled.authority.results(command))
        count = sum(got["id"] == command["id"] for got in app.got)
        assert count <= 1
        assert count == 1 or uncertain
        if count:
            ruled.authority.wait_result(command, "answered")
        assert states <= {"delivered", "answered"}


def test_a_command_waits_for_its_app(ruled, heater):
    board = ruled.live()
    # The watcher reads everything, and counts as a subscriber.
    ruled.watcher.close()
    command = ruled.authority.command(board, "heater", {"celsius": 21})
    ruled.barrier(board)
    ruled.authority.send_again(board, command)
    ruled.barrier(board)
    assert ruled.authority.results(command) == []
    app = heater(ruled)
    assert ruled.authority.wait_result(command)["state"] == "answered"
    assert len(app.got) == 1


def test_a_command_that_nobody_gets_expires(ruled, heater):
    board = ruled.live()
    ruled.watcher.close()
    command = ruled.authority.command(board, "heater", {"celsius": 21}, wait=3)
    result = ruled.authority.wait_result(command)
    assert (result["state"], result["delivered"]) == ("expired", False)
    app = heater(ruled)
    other = ruled.authority.command(board, "lamp", 1, wait=3)
    assert ruled.authority.wait_result(other)["delivered"] is False
    assert app.got == []


def test_a_waiting_command_survives_a_stop_of_the_agent(ruled, heater):
    board = ruled.live()
    ruled.watcher.close()
    command = ruled.authority.command(board, "heater", {"celsius": 21}, wait=600)
    ruled.barrier(board)
    ruled.agent.stop()
    mark = ruled.authority.mark()
    ruled.start()
    ruled.authority.wait_request("session.authenticate", since=mark)
    app = heater(ruled)
    ruled.authority.send_again(board, command)
    assert ruled.authority.wait_result(command)["state"] == "answered"
    assert len(app.got) == 1


def test_a_command_without_an_answer_expires_as_delivered(ruled, heater):
    board, app = ruled.live(), heater(ruled, is_mute=True)
    command = ruled.authority.command(board, "heater", {"celsius": 21}, wait=3)
    result = ruled.authority.wait_result(command)
    assert (result["state"], result["delivered"]) == ("expired", True)
    mark = app.link.mark()
    app.answer(command["id"], 1)
    rejected = json.loads(
        app.link.wait_topic(topics.app("heater", "rejected"), since=mark).payload)
    assert (rejected["code"], rejected["rule"]) == (101, "builtin:command")


@pytest.mark.parametrize("app, content, code, rule, field", [
    ("door", 1, 119, "policy.toml:app.door", None),
    ("stranger", 1, 119, "builtin:command", None),
    ("No App", 1, 105, "builtin:command", None),
    ("heater", {"celsius": 31}, 142, "policy.toml:app.heater", "celsius"),
    ("heater", {"celsius": "21"}, 111, "policy.toml:app.heater", "celsius"),
    ("heater", {"celsius": 21, "x": 1}, 119, "policy.toml:app.heater", "x"),
])
def test_the_boards_policy_refuses(ruled, heater, app, content, code, rule, field):
    board, listener = ruled.live(), heater(ruled)
    command = ruled.authority.command(board, app, content)
    error = ruled.authority.wait_result(command)["error"]
    assert (error["code"], error["rule"], error.get("field")) == (code, rule, field)
    assert listener.got == []


def test_without_a_policy_file_there_are_no_commands(bench, heater):
    board, app = bench.live(), heater(bench)
    command = bench.authority.command(board, "heater", {"celsius": 21})
    error = bench.authority.wait_result(command)["error"]
    assert (error["code"], error["rule"]) == (119, "builtin:command")
    assert app.got == []


def test_more_than_the_rate_before_the_deadline_is_refused(ruled, heater):
    board, app = ruled.live(), heater(ruled, "lamp")
    commands = [ruled.authority.command(board, "lamp", n) for n in range(5)]
    results = [ruled.authority.wait_result(command) for command in commands]
    assert results[0]["state"] == "answered"
    refused = [r["error"] for r in results if r["state"] == "refused"]
    assert len(refused) == 4
    assert {(e["code"], e["rule"]) for e in refused} == {(155, "policy.toml:app.lamp")}
    assert len(app.got) == 1


def test_a_broker_that_plays_a_command_again_changes_nothing(ruled, heater):
    board, app = ruled.live(), heater(ruled)
    mark = ruled.observer.mark()
    command = ruled.authority.command(board, "heater", {"celsius": 21}, wait=600)
    ruled.authority.wait_result(command)
    inbox = topics.inbox(board.iid)
    recorded = [m.payload for m in ruled.observer.since(mark, inbox)]
    for payload in recorded:
        ruled.authority.send(board, payload)
    ruled.barrier(board)
    ruled.agent.kill()
    again = ruled.authority.mark()
    ruled.start()
    ruled.authority.wait_request("session.authenticate", since=again)
    for payload in recorded:
        ruled.authority.send(board, payload)
    ruled.barrier(board)
    assert len(app.got) == 1


def test_a_command_of_another_session_is_refused(ruled, heater):
    board, app = ruled.live(), heater(ruled)
    command = ruled.authority.command(
        board, "heater", {"celsius": 21}, sessionId="AAAAAAAAAA")
    assert ruled.authority.wait_result(command)["error"]["code"] == 209
    assert app.got == []


@pytest.mark.parametrize("changes", [
    {"app": "h" * 33}, {"deadline": "soon"}, {"command": "x" * 17000}, {"sessionId": "short"},
])
def test_a_malformed_command_is_dropped(ruled, heater, changes):
    board, app = ruled.live(), heater(ruled)
    command = ruled.authority.command(board, "heater", {"celsius": 21}, **changes)
    ruled.barrier(board)
    until(lambda: ruled.status()["inboxDropped"] >= 1, "the drop to be counted", 60)
    assert ruled.authority.results(command) == [] and app.got == []


def test_another_app_neither_hears_nor_answers(ruled, heater):
    board = ruled.live()
    app, thief = heater(ruled, is_mute=True), heater(ruled, "thief", is_mute=True)
    with_ears = Link(ruled.app_login("thief"), journal=ruled.evidence.journal).open()
    with_ears.subscribe(topics.app("heater", "command"))
    command = ruled.authority.command(board, "heater", {"celsius": 21})
    until(lambda: app.got, "the command", 60)
    with_ears.publish(topics.app("heater", "answer", command["id"]), "1")
    mark = thief.link.mark()
    thief.answer(command["id"], 2)
    rejected = json.loads(
        thief.link.wait_topic(topics.app("thief", "rejected"), since=mark).payload)
    assert rejected["code"] == 101
    app.answer(command["id"], 3)
    assert ruled.authority.wait_result(command)["answer"] == 3
    assert with_ears.heard == []
    with_ears.close()


def test_an_app_speaks_to_the_agent_as_before(ruled, heater):
    """The agent lets go of its own subscription while it publishes a command."""
    board, app = ruled.live(), heater(ruled)
    stop = threading.Event()

    def commands() -> None:
        while not stop.is_set():
            ruled.authority.command(board, "heater", {"celsius": 21})
            stop.wait(0.1)

    thread = threading.Thread(target=commands)
    thread.start()
    try:
        until(lambda: len(app.got) > 3, "some commands", 60)
    finally:
        stop.set()
        thread.join()
    ruled.barrier(board)
    mark = app.link.mark()
    app.link.publish(topics.app("heater", "creat"), b"1")
    rejected = json.loads(
        app.link.wait_topic(topics.app("heater", "rejected"), since=mark).payload)
    assert (rejected["code"], rejected["rule"]) == (105, "builtin:topic")


def test_the_commands_end_with_the_session(ruled, heater):
    board = ruled.live()
    ruled.watcher.close()
    session = board.login.id
    command = ruled.authority.command(board, "heater", {"celsius": 21}, wait=600)
    ruled.barrier(board)
    ruled.authority.revoke(board)
    until(lambda: ruled.status()["state"] == "unavailable", "the session to end", 60)
    app = heater(ruled)
    assert ruled.status()["reason"] == "revoked" and session == command["sessionId"]
    assert app.got == []


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
