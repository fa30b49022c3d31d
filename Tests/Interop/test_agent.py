"""The real `postern-agent`: how it pairs, what it tells the board, what its files are."""

import json
import os

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.program import run
from bench.waiting import until
from conftest import assert_nothing_leaked
from postern_contract import topics
from postern_contract.claim_url import ClaimURL

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
    until(lambda: bench.broker.program.log.count("not authorised") >= 2, "two refusals", 60)
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
    again = bench.authority.wait_request("provision.accepted", since=mark, timeout=60)
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
    until(lambda: board.login.id != old, "the second provisioning to be accepted", 60)
    new = board.login.id
    until(lambda: bench.session_now["session"]["objectId"] == new, "the new session", 60)


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
    until(lambda: board.login.id in _all_strings(app.get("sessions")), "the list", 60)


def test_commands_tell_the_state_without_a_token(bench):
    board = bench.live()
    assert json.loads(bench.command("status", "--json"))
    shown = _all_strings(json.loads(bench.command("session", "show", "--json")))
    assert board.login.id in shown
    assert not any(text.startswith(("r:", "rt:", "eyJ")) for text in shown)


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
    done = run([bench.binary, "--config-dir", bench.config, "run"], timeout=60)
    assert done.returncode == 78
    assert hint in done.stderr


@pytest.mark.parametrize("mode", [0o644, 0o666])
def test_loose_file_modes_are_refused(bench, mode):
    os.chmod(bench.config / "agent.toml", mode)
    done = run([bench.binary, "--config-dir", bench.config, "run"], timeout=60)
    assert done.returncode in (77, 78)
    assert "agent.toml" in done.stderr


def test_malformed_policy_is_refused(make_bench):
    bench = make_bench(policy='default = "perhaps"\n')
    done = run([bench.binary, "--config-dir", bench.config, "run"], timeout=60)
    assert done.returncode == 78
    assert "policy.toml" in done.stderr


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
