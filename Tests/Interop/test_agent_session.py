"""The real `postern-agent`: its session's life, from heartbeat to revocation and power cut."""

import time

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from authority_player import DROP, IGNORE
from bench.waiting import until
from conftest import assert_nothing_leaked
from postern_contract import topics
from postern_contract.codes import ContractError


def test_revoked_session_ends(bench, record_property):
    board = bench.live()
    app = bench.app()
    assert "seq" in app.write("Reading")
    mark, session = bench.watcher.mark(), board.login.id
    start = time.monotonic()
    revoked = bench.authority.revoke(board)
    until(lambda: app.write("Reading", b"x").get("code") == 209, "writes refused with 209", 60)
    record_property("revoked to the first 209, s", round(time.monotonic() - start, 3))
    ended = bench.authority.wait_request("session.ended")
    assert (ended.body["re"], ended.body["sessionId"]) == (revoked["id"], session)
    said = bench.wait_session("unavailable", since=mark)
    assert (said["reason"], said["code"]) == ("revoked", 209)
    assert app.write("Reading")["code"] == 209


def test_revocation_survives_a_restart(bench):
    board = bench.live()
    mark = bench.watcher.mark()
    bench.authority.revoke(board)
    bench.wait_session("unavailable", since=mark)
    bench.agent.kill()
    mark = bench.watcher.mark()
    bench.start()
    assert bench.wait_session("unavailable", since=mark)["code"] == 209
    assert bench.app().write("Reading")["code"] == 209


def test_revocation_reaches_a_board_that_was_off(bench):
    board = bench.live()
    bench.agent.kill()
    bench.authority.revoke(board)
    mark = bench.watcher.mark()
    bench.start()
    assert bench.wait_session("unavailable", since=mark, timeout=60)["reason"] == "revoked"


def test_revocation_of_another_session_is_answered_and_ignored(bench):
    board = bench.live()
    bench.barrier(board)
    assert bench.session_now["state"] == "available"
    assert "seq" in bench.app().write("Reading")


def test_board_is_claimed_again_after_a_revocation(bench):
    board = bench.live()
    old, mark = board.login.id, bench.watcher.mark()
    bench.authority.revoke(board)
    bench.wait_session("unavailable", since=mark)
    until(lambda: board.login is None, "the farewell", 60)
    mark = bench.watcher.mark()
    bench.authority.claim(bench.pair("--new"))
    new = bench.authority.wait_live(board, timeout=60).id
    assert new != old
    said = bench.wait_session("available", since=mark)
    assert said["session"]["objectId"] == new
    until(lambda: "seq" in bench.app().write("Reading"), "writes to be taken", 60)


def test_heartbeat_comes_at_its_interval(bench):
    bench.authority.heartbeat = 3
    bench.live()
    mark = bench.authority.mark()
    beats = []
    for _ in range(3):
        beats.append(bench.authority.wait_request("session.authenticate", since=mark))
        mark = bench.authority.requests.index(beats[-1]) + 1
    assert len({beat.id for beat in beats}) == 3
    assert all("durationMinutes" not in beat.body for beat in beats)
    assert all(abs(beat.body["iat"] - time.time()) < 60 for beat in beats)


def test_clock_error_is_asked_again_with_a_fresh_id(bench):
    bench.authority.heartbeat = 3
    bench.live()
    bench.authority.script("session.authenticate", ContractError(142, "clock"))
    mark = bench.authority.mark()
    first = bench.authority.wait_request("session.authenticate", since=mark, timeout=60)
    after = bench.authority.requests.index(first) + 1
    second = bench.authority.wait_request("session.authenticate", since=after, timeout=60)
    assert second.id != first.id
    assert bench.session_now["state"] == "available"


def test_unanswered_request_is_repeated_with_its_id(bench):
    bench.live()
    bench.agent.kill()
    bench.authority.script("session.authenticate", IGNORE)
    mark = bench.authority.mark()
    bench.start()
    first = bench.authority.wait_request("session.authenticate", since=mark, timeout=60)
    again = bench.authority.wait_request(
        lambda r: r is not first and r.id == first.id, since=mark, timeout=40
    )
    assert again.body["iat"] > first.body["iat"]


def test_invalid_token_reply_ends_the_session(bench):
    bench.authority.heartbeat = 3
    bench.live()
    mark = bench.watcher.mark()
    bench.authority.script("session.authenticate", ContractError(209, "invalid token"))
    said = bench.wait_session("unavailable", since=mark, timeout=60)
    assert said["code"] == 209
    assert bench.app().write("Reading")["code"] == 209


@pytest.mark.parametrize("code", [101, 119, 142, 155])
def test_no_other_error_ends_the_session(bench, code):
    bench.authority.heartbeat = 3
    board = bench.live()
    bench.authority.script("session.authenticate", ContractError(code, "not now"))
    mark = bench.authority.mark()
    bench.authority.wait_request("session.authenticate", since=mark, timeout=60)
    bench.barrier(board)
    assert bench.session_now["state"] == "available"
    assert "seq" in bench.app().write("Reading")


def test_killed_agent_restores_its_session_without_an_uplink(bench):
    board = bench.live()
    app = bench.app()
    bench.stop_broker()
    given = [app.write("Reading", b"before %d" % n)["seq"] for n in range(20)]
    bench.agent.kill()
    bench.watcher.publish(topics.BUS_SESSION, b"", retain=True)
    mark = bench.watcher.mark()
    bench.start()
    session = bench.wait_session("available", since=mark)
    assert session["session"]["objectId"] == board.login.id
    given.append(app.write("Reading", b"before 20")["seq"])
    bench.resume_broker(board.iid)
    arrived = [bench.wait_data(board, b"before %d" % n, timeout=60) for n in range(21)]
    assert [int(m.user["seq"]) for m in arrived] == given == sorted(set(given))


# Refresh, which a first agent may lack.


@pytest.mark.lifecycle
def test_refresh_is_asked_for_and_adopted(bench):
    bench.authority.mint.access_lifetime = 30
    board = bench.live()
    spent = board.provision["refreshToken"]
    first = bench.authority.wait_request("session.refresh", timeout=60)
    assert first.body["refreshToken"] == spent
    mark = bench.authority.requests.index(first) + 1
    second = bench.authority.wait_request(
        lambda r: r.type == "session.refresh" and r.id != first.id, since=mark, timeout=60
    )
    assert second.body["refreshToken"] not in (spent, "")
    assert bench.authority.thefts == []


@pytest.mark.lifecycle
def test_lost_refresh_reply_repeats_the_same_id(bench):
    bench.authority.mint.access_lifetime = 30
    bench.authority.script("session.refresh", DROP)
    bench.live()
    first = bench.authority.wait_request("session.refresh", timeout=60)
    mark = bench.authority.requests.index(first) + 1
    second = bench.authority.wait_request("session.refresh", since=mark, timeout=40)
    assert (second.id, second.body["refreshToken"]) == (first.id, first.body["refreshToken"])
    assert bench.authority.thefts == []


@pytest.mark.lifecycle
def test_refresh_id_survives_a_power_cut(bench):
    bench.authority.mint.access_lifetime = 30
    bench.authority.script("session.refresh", DROP)
    bench.live()
    first = bench.authority.wait_request("session.refresh", timeout=60)
    bench.agent.kill()
    mark = bench.authority.mark()
    bench.start()
    second = bench.authority.wait_request("session.refresh", since=mark, timeout=40)
    assert second.id == first.id
    assert bench.authority.thefts == []


@pytest.mark.lifecycle
def test_refresh_that_the_authority_does_not_know_keeps_the_session(bench):
    bench.authority.mint.access_lifetime = 30
    bench.authority.script("session.refresh", *[ContractError(101, "unknown")] * 20)
    board = bench.live()
    bench.authority.wait_request("session.refresh", timeout=60)
    bench.barrier(board)
    assert bench.session_now["state"] == "available"
    assert "seq" in bench.app().write("Reading")


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
