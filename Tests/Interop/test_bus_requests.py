"""The real `postern-agent`: every request of an app gets an answer, and reads name their kind."""

import json
import re
import secrets

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench import specification
from bench.waiting import until
from conftest import assert_nothing_leaked
from postern_contract import topics

ELSEWHERE = [
    "postern/app/door/answers", "postern/session", "postern/app/thermo/create/Reading",
    "postern/app/thermo/get/session", "postern/app/thermo", "postern/app/thermofoo/x",
    "other/topic", "postern/v1/x",
]
MISSHAPEN = [
    ("upsert/Reading", 105), ("Create/Reading", 105), ("answers/1", 105), ("stray", 105),
    ("", 105), ("create", 103), ("create/Reading/x", 105), ("update/Reading", 105),
    ("delete/Reading/a/b", 105), ("get", 101), ("get/token", 101), ("get/user/x", 101),
]


def ask(app, topic: str, response: str | None) -> dict:
    """The rejection of a request, at its response topic, or at `rejected`."""
    correlation, since = secrets.token_bytes(12), len(app.link.heard)
    app.link.publish(topic, b"{}", response_topic=response, correlation=correlation)
    answer = app.link.wait(lambda m: m.correlation == correlation, f"an answer to {topic}")
    rejection = json.loads(answer.payload)
    own = response and response.startswith("postern/app/thermo/answers")
    assert answer.topic == (response if own else topics.app("thermo", "rejected"))
    assert rejection["topic"] == topic and rejection["rule"] == "builtin:topic"
    assert rejection["error"] and rejection["id"]
    assert specification.faults("Rejection", rejection) == []
    assert [m.correlation for m in app.link.heard[since:]].count(correlation) == 1
    return rejection


@pytest.mark.parametrize("levels, code", MISSHAPEN)
def test_a_wrong_topic_is_answered(bench, levels, code):
    bench.live()
    app = bench.app()
    topic = topics.app("thermo", levels)
    for response in (topics.app("thermo", "answers"), None):
        # A read without a response topic is wrong by itself.
        assert ask(app, topic, response)["code"] == code
    assert ask(app, "postern/app/thermo", None)["code"] == 105
    assert bench.data_heard() == []


@pytest.mark.parametrize("request_topic", ["create/Reading", "get/session", "upsert/Reading"])
def test_a_foreign_response_topic_is_answered_at_the_apps_own_place(bench, request_topic):
    board = bench.live()
    app = bench.app()
    for response in ELSEWHERE:
        assert ask(app, topics.app("thermo", request_topic), response)["code"] == 105
    app.write("Reading", b"after")
    bench.wait_data(board, b"after")
    assert [m.payload for m in bench.data_heard()] == [b"after"]


def test_too_long_correlation_data_is_refused(bench):
    bench.live()
    app = bench.app()
    app.link.publish(topics.app("thermo", "create", "Reading"), b"{}",
                     response_topic=topics.app("thermo", "answers"), correlation=bytes(1025))
    rejection = app.wait_rejected()
    assert (rejection["code"], rejection["rule"]) == (116, "builtin:topic")


def test_reads_name_their_kind(bench):
    board = bench.live()
    bench.authority.update(board, kind="error", room="attic")
    app = bench.app()
    until(lambda: "attic" in json.dumps(app.get("session")), "the update", 60)
    # The list is the authority's: an answer may come before it does.
    sessions = until(lambda: (told := app.get("sessions")).get("sessions") and told, "the list")
    session, user = app.get("session"), app.get("user")
    own = session["objectId"]
    assert session["kind"] == "session" and own == board.login.session["objectId"]
    assert user["kind"] == "user" and user["username"] == board.user["username"]
    assert sessions["kind"] == "sessions" and sessions["sessions"][0]["objectId"] == own
    for name, answer in [("Session", session), ("User", user), ("Sessions", sessions)]:
        assert specification.faults(name + "Answer", answer) == []
    assert app.ask(topics.app("thermo", "get", "session", own), b"") == session
    other = app.ask(topics.app("thermo", "get", "session", "Tablet0001"), b"")
    assert (other["kind"], other["code"]) == ("error", 101)
    bench.authority.revoke(board)
    bench.wait_session("unavailable")
    over = app.get("session")
    assert (over["kind"], over["code"], over["final"]) == ("error", 209, True)
    assert specification.faults("NoSession", over) == []


def test_the_agents_own_messages_are_no_requests(bench):
    board = bench.live()
    app = bench.app()
    for number in range(50):
        assert "seq" in app.write("Reading", b"%d" % number)
        app.get("user")
        ask(app, topics.app("thermo", "upsert"), topics.app("thermo", "answers"))
        ask(app, topics.app("thermo", "upsert"), None)
    bench.barrier(board)

    def told() -> int:
        return len([m for m in bench.watcher.heard if re.fullmatch(
            "postern/app/thermo/(answers|rejected)", m.topic)])

    # The watcher and the observer hear by connections of their own.
    until(lambda: told() >= 200, "the watcher to hear all answers")
    assert told() == 200
    assert bench.status()["refused"] == 100
    until(lambda: len(bench.data_heard()) >= 50, "the data upstream")
    assert len(bench.data_heard()) == 50


def test_a_message_that_is_too_long_is_not_read(make_bench):
    bench = make_bench()
    bench.live()
    app = bench.app()
    stray = topics.app("thermo", "stray")
    app.link.publish(stray, bytes(2 << 20))
    assert app.ask(stray, b"")["code"] == 105
    assert bench.status()["refused"] == 1


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
