"""Hostile and broken sealed messages against the real `postern-agent`: nothing may change."""

import pytest

from bench.agent_bench import AgentBench
from conftest import assert_nothing_leaked
from hostile_messages import BAD_PROVISIONS, UNOPENABLE, WRONG_INSIDE, bad_provision, offer
from postern_contract import sealed, topics
from postern_contract.x25519 import KeyPair

_HARMLESS = {"session.authenticate", "session.refresh", "session.list", "user.get"}


class Shared:
    """One live agent for a whole table of messages; a new one once a row has spoiled it."""

    def __init__(self, make):
        self._make = make
        self._bench: AgentBench | None = None
        self._board = None

    def get(self):
        if self._bench is None or not self._is_sound():
            self.close()
            self._bench = self._make()
            # A heartbeat's answer would be a change of the session on the bus.
            self._bench.authority.heartbeat = 24 * 3600
            self._bench.authority.mint.access_lifetime = 3600
            self._board = self._bench.live()
            self._bench.barrier(self._board)
        return self._bench, self._board

    def _is_sound(self) -> bool:
        state = self._bench.session_now
        return self._bench.agent.is_running and state and state["state"] == "available"

    def close(self):
        if self._bench is not None:
            self._bench.close()
        self._bench = None


@pytest.fixture(scope="module")
def shared(tmp_path_factory, evidence, programs):
    shared = Shared(lambda: AgentBench(tmp_path_factory.mktemp("agent"), evidence, programs))
    yield shared
    shared.close()


@pytest.fixture
def live(shared):
    return shared.get()


@pytest.fixture
def bench(live):
    return live[0]


def _assert_ignored(bench, board, payload: bytes, allowed: frozenset = frozenset()) -> None:
    """Sends it and, once the agent has surely read it, finds nothing changed or answered."""
    pid, session = bench.agent.pid, bench.session_now
    heard, asked = bench.watcher.mark(), bench.authority.mark()
    bench.authority.send(board, payload)
    barrier = bench.barrier(board)
    assert bench.agent.is_running and bench.agent.pid == pid
    assert bench.watcher.since(heard, topics.BUS_SESSION) == []
    assert bench.session_now == session
    said = {
        r.type for r in bench.authority.requests[asked:]
        if not (r.type == "session.ended" and r.body["re"] == barrier)
    }
    assert said <= _HARMLESS | allowed
    assert "seq" in bench.app().write("Reading")


@pytest.mark.parametrize("name", UNOPENABLE)
def test_what_cannot_be_opened_is_dropped(live, bench, name):
    board = live[1]
    _assert_ignored(bench, board, UNOPENABLE[name](bench.authority, board))


@pytest.mark.parametrize("name", WRONG_INSIDE)
def test_what_is_wrong_inside_changes_nothing(live, bench, name):
    board = live[1]
    _assert_ignored(bench, board, WRONG_INSIDE[name](bench.authority, board))


def test_equal_sequence_number_is_not_above(live, bench):
    board = live[1]
    bench.barrier(board)
    message = {"type": "session.revoked", "id": "b2c7f6de-6d5e-4bb7-8a58-39cc1fd01f7d",
               "iat": 1_700_000_000, "seq": board.last_seq, "sessionId": board.login.id,
               "reason": "again"}
    _assert_ignored(bench, board, bench.authority.seal(board, message))


@pytest.mark.parametrize("name", BAD_PROVISIONS)
def test_bad_provisioning_of_the_pinned_authority_changes_nothing(live, bench, name):
    board = live[1]
    message = bad_provision(bench.authority, board, name)
    payload = bench.authority.seal(board, message)
    _assert_ignored(bench, board, payload, frozenset({"provision.rejected"}))


def test_other_seal_key_is_not_taken_from_a_stranger(live, bench):
    board = live[1]
    payload = sealed.seal_auth(
        offer(bench.authority, board), topics.inbox(board.iid), board.claim.device_key,
        KeyPair(),
    )
    _assert_ignored(bench, board, payload)


def test_bad_provisionings_leave_the_claim_secret_alive(tmp_path, evidence, programs):
    bench = AgentBench(tmp_path, evidence, programs)
    try:
        url = bench.pair()
        bench.start()
        board = bench.authority.admit(url)
        _send_all_bad_ones(bench, board)
        assert bench.session_now["state"] == "unavailable"
        assert [r for r in bench.authority.requests if r.type == "provision.accepted"] == []
        bench.authority.provision(board)
        bench.authority.wait_live(board, timeout=40)
        bench.wait_session("available")
    finally:
        bench.close()


def _send_all_bad_ones(bench: AgentBench, board) -> None:
    """Each bad provisioning under the claim secret, then one whose rejection must come."""
    bench.wait_status(board.iid, status="up", timeout=40)
    for name in BAD_PROVISIONS:
        message = bad_provision(bench.authority, board, name)
        bench.authority.send(board, bench.authority.seal_provision(board, message))
    whole = bench.authority.seal_provision(board, offer(bench.authority, board))
    for spoiled in (whole[:-9], whole.replace(b'"psk"', b'"auth"'), b"", b"{}"):
        bench.authority.send(board, spoiled)
    last = bad_provision(bench.authority, board, "accessToken by a stranger")
    bench.authority.send(board, bench.authority.seal_provision(board, last))
    bench.authority.wait_request(
        lambda r: r.type == "provision.rejected" and r.body["re"] == last["id"], timeout=40
    )


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
