"""The real `postern-agent`, with the authority played from the contract alone."""

import json
import os
import time

import pytest

from authority_player import DROP, IGNORE
from bench.agent_bench import AgentBench
from bench.program import run
from bench.waiting import until
from conftest import assert_nothing_leaked
from postern_contract import names, topics
from postern_contract.claim_url import ClaimURL
from postern_contract.codes import ContractError

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


@pytest.fixture
def make_bench(tmp_path, evidence, programs):
    made = []

    def make(**options) -> AgentBench:
        made.append(AgentBench(tmp_path, evidence, programs, **options))
        return made[-1]

    yield make
    for bench in made:
        bench.close()
    for bench in made:
        bench.assert_conforms()


@pytest.fixture
def bench(make_bench) -> AgentBench:
    return make_bench()


# Pairing and provisioning.


def test_pair_shows_one_identity(bench):
    first, second = ClaimURL.parse(bench.pair()), ClaimURL.parse(bench.pair())
    assert first.base == "postern://claim"
    assert first.name == "interop bench"
    assert (first.iid, first.device_key) == (second.iid, second.device_key)


def test_pair_works_while_the_agent_runs(bench):
    before = ClaimURL.parse(bench.pair())
    bench.start()
    url = bench.pair()
    assert ClaimURL.parse(url).iid == before.iid
    bench.authority.wait_live(bench.authority.claim(url), timeout=40)


def test_claimed_board_becomes_available(bench):
    board = bench.live()
    session = bench.wait_session("available")
    assert session["session"]["objectId"] == board.login.id
    assert session["session"]["installationId"] == board.iid
    assert session["session"]["restricted"] is True
    assert isinstance(session["validatedAt"], int)
    assert "Token" not in json.dumps(session)
    accepted = bench.authority.wait_request("provision.accepted").body
    assert accepted["re"] == board.provision["id"]
    assert accepted["sessionId"] == board.login.id


def test_session_is_retained_on_the_bus(bench):
    board = bench.live()
    app = bench.app()
    app.link.subscribe(topics.BUS_SESSION)
    said = app.link.wait_topic(topics.BUS_SESSION)
    assert said.retain
    assert json.loads(said.payload)["session"]["objectId"] == board.login.id


def test_board_waits_for_its_claim_with_backoff(bench):
    url = bench.pair()
    bench.start()
    until(lambda: bench.broker.program.log.count("not authorised") >= 2, "two refusals", 30)
    board = bench.authority.claim(url)
    bench.authority.wait_live(board, timeout=60)


def test_status_upstream_is_up_and_then_down(bench):
    board = bench.live()
    mark = bench.observer.mark()
    status = bench.wait_status(board.iid, status="up", session="available")
    assert isinstance(status["version"], str) and isinstance(status["since"], int)
    bench.agent.kill()
    bench.wait_status(board.iid, since=mark, status="down")


def test_status_is_retained(bench):
    board = bench.live()
    bench.wait_status(board.iid, status="up", session="available")
    bench.observer.subscribe(topics.status(board.iid))
    bench.observer.wait(
        lambda m: m.topic == topics.status(board.iid) and m.retain, "the retained status"
    )


def test_sigterm_ends_it_in_order(bench):
    board = bench.live()
    mark = bench.observer.mark()
    assert bench.agent.stop() == 0
    bench.wait_status(board.iid, since=mark, status="down")


def test_provisioning_is_accepted_at_each_connect_until_answered(bench):
    board = _claimed_but_unheard(bench)
    mark = bench.authority.mark()
    bench.agent.kill()
    bench.start()
    again = bench.authority.wait_request("provision.accepted", since=mark, timeout=30)
    assert again.body["re"] == board.provision["id"]


def test_redelivered_provisioning_is_accepted_again(bench):
    board = _claimed_but_unheard(bench)
    mark = bench.authority.mark()
    bench.authority.send(board, board.provision_payload)
    again = bench.authority.wait_request("provision.accepted", since=mark)
    assert again.body["re"] == board.provision["id"]
    assert bench.session_now["session"]["objectId"] == board.offered.id


def _claimed_but_unheard(bench):
    """A board that took its provisioning and whose authority says nothing to it."""
    bench.authority.is_deaf = True
    url = bench.pair()
    bench.start()
    board = bench.authority.claim(url)
    bench.authority.wait_request("provision.accepted", timeout=40)
    bench.wait_session("available")
    return board


def test_new_claim_secret_leaves_the_session_until_it_serves(bench):
    board = bench.live()
    old = board.login.id
    url = bench.pair("--new")
    assert ClaimURL.parse(url).claim_secret != board.claim.claim_secret
    assert ClaimURL.parse(url).device_key == board.claim.device_key
    assert bench.session_now["state"] == "available"
    assert "seq" in bench.app().write("Reading")
    bench.authority.claim(url)
    until(lambda: board.login.id != old, "the second provisioning to be accepted", 30)
    new = board.login.id
    until(lambda: bench.session_now["session"]["objectId"] == new, "the new session", 10)


# Writes.


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
    assert before - 1000 <= int(arrived.user["ts"]) <= time.time() * 1000 + 1000


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
    until(lambda: "seq" in app.write("Door"), "the wider scope", 10)
    bench.authority.update(board)
    bench.barrier(board)
    assert "seq" in app.write("Door")
    assert app.write("_User")["code"] == 119


def test_replayed_update_is_ignored(bench):
    board = bench.live()
    app = bench.app()
    bench.authority.update(board, {"default": "deny", "rules": []})
    until(lambda: app.write("Door").get("code") == 119, "the narrow scope", 10)
    narrow = [m for m in bench.observer.heard if m.topic == topics.inbox(board.iid)][-1]
    bench.authority.update(board, {"default": "allow", "rules": []})
    until(lambda: "seq" in app.write("Door"), "the wide scope", 10)
    bench.authority.send(board, narrow.payload)
    bench.barrier(board)
    assert "seq" in app.write("Door")


# What programs ask.


def _all_strings(value) -> set[str]:
    if isinstance(value, dict):
        return set().union(*map(_all_strings, value.values())) | set(value)
    if isinstance(value, list):
        return set().union(*map(_all_strings, value))
    return {value} if isinstance(value, str) else set()


def test_get_answers_without_a_token(bench):
    board = bench.live()
    app = bench.app()
    expected = {"session": board.login.id, "user": board.user["objectId"]}
    for what in ("session", "user", "sessions"):
        said = _all_strings(app.get(what))
        assert expected.get(what, board.login.id) in said or what == "sessions"
        assert not {"sessionToken", "accessToken", "refreshToken"} & said
    until(lambda: board.login.id in _all_strings(app.get("sessions")), "the list", 15)


def test_commands_tell_the_state_without_a_token(bench):
    board = bench.live()
    assert json.loads(bench.command("status", "--json"))
    shown = _all_strings(json.loads(bench.command("session", "show", "--json")))
    assert board.login.id in shown
    assert not any(text.startswith(("r:", "rt:", "eyJ")) for text in shown)


# The session's life.


def test_revoked_session_ends_within_a_second(bench):
    board = bench.live()
    app = bench.app()
    assert "seq" in app.write("Reading")
    mark, session = bench.watcher.mark(), board.login.id
    start = time.monotonic()
    revoked = bench.authority.revoke(board)
    until(lambda: app.write("Reading", b"x").get("code") == 209, "writes refused with 209", 3)
    assert time.monotonic() - start < 1.0
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
    assert bench.wait_session("unavailable", since=mark, timeout=30)["reason"] == "revoked"


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
    until(lambda: board.login is None, "the farewell", 15)
    mark = bench.watcher.mark()
    bench.authority.claim(bench.pair("--new"))
    new = bench.authority.wait_live(board, timeout=60).id
    assert new != old
    said = bench.wait_session("available", since=mark)
    assert said["session"]["objectId"] == new
    until(lambda: "seq" in bench.app().write("Reading"), "writes to be taken", 10)


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
    first = bench.authority.wait_request("session.authenticate", since=mark, timeout=20)
    after = bench.authority.requests.index(first) + 1
    second = bench.authority.wait_request("session.authenticate", since=after, timeout=20)
    assert second.id != first.id
    assert bench.session_now["state"] == "available"


def test_unanswered_request_is_repeated_with_its_id(bench):
    bench.live()
    bench.agent.kill()
    bench.authority.script("session.authenticate", IGNORE)
    mark = bench.authority.mark()
    bench.start()
    first = bench.authority.wait_request("session.authenticate", since=mark, timeout=30)
    again = bench.authority.wait_request(
        lambda r: r is not first and r.id == first.id, since=mark, timeout=40
    )
    assert again.body["iat"] > first.body["iat"]


def test_invalid_token_reply_ends_the_session(bench):
    bench.authority.heartbeat = 3
    bench.live()
    mark = bench.watcher.mark()
    bench.authority.script("session.authenticate", ContractError(209, "invalid token"))
    said = bench.wait_session("unavailable", since=mark, timeout=30)
    assert said["code"] == 209
    assert bench.app().write("Reading")["code"] == 209


@pytest.mark.parametrize("code", [101, 119, 142, 155])
def test_no_other_error_ends_the_session(bench, code):
    bench.authority.heartbeat = 3
    board = bench.live()
    bench.authority.script("session.authenticate", ContractError(code, "not now"))
    mark = bench.authority.mark()
    bench.authority.wait_request("session.authenticate", since=mark, timeout=20)
    bench.barrier(board)
    assert bench.session_now["state"] == "available"
    assert "seq" in bench.app().write("Reading")


def test_killed_agent_restores_its_session_without_an_uplink(bench):
    board = bench.live()
    app = bench.app()
    bench.broker.stop()
    given = [app.write("Reading", b"before %d" % n)["seq"] for n in range(20)]
    bench.agent.kill()
    bench.watcher.publish(topics.BUS_SESSION, b"", retain=True)
    mark = bench.watcher.mark()
    bench.start()
    session = bench.wait_session("available", since=mark)
    assert session["session"]["objectId"] == board.login.id
    given.append(app.write("Reading", b"before 20")["seq"])
    bench.broker.start()
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


# The files and the configuration.


def test_files_are_private(bench):
    bench.live()
    state, runtime = bench.folder / "state", bench.folder / "run"
    for path in [*state.rglob("*"), state]:
        assert path.stat().st_mode & 0o077 == 0, path
    assert (runtime / "agent.sock").stat().st_mode & 0o007 == 0


@pytest.mark.parametrize("old, new, hint", [
    ("[uplink]\nuri", "[uplink]\nurl", "uri"),
    ("state_dir", "statedir", "state_dir"),
    ("mqtt://127.0.0.1", "mqtt://broker.example", "insecure"),
    ("[claim]", "[claim", ""),
])
def test_bad_configuration_is_refused_by_name(bench, old, new, hint):
    path = bench.config / "agent.toml"
    path.write_text(path.read_text().replace(old, new))
    done = run([bench.binary, "--config-dir", bench.config, "run"], timeout=15)
    assert done.returncode == 78
    assert hint in done.stderr


@pytest.mark.parametrize("mode", [0o644, 0o666])
def test_loose_file_modes_are_refused(bench, mode):
    os.chmod(bench.config / "agent.toml", mode)
    done = run([bench.binary, "--config-dir", bench.config, "run"], timeout=15)
    assert done.returncode in (77, 78)
    assert "agent.toml" in done.stderr


def test_malformed_policy_is_refused(make_bench):
    bench = make_bench(policy='default = "perhaps"\n')
    done = run([bench.binary, "--config-dir", bench.config, "run"], timeout=15)
    assert done.returncode == 78
    assert "policy.toml" in done.stderr


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
