"""The real `postern-authority` and `postern send`: commands to a board that is not ours."""

import json
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from authority_fixtures import bench  # noqa: F401, a fixture
from bench.authority_bench import ADMIN, AuthorityBench
from bench.broker import Broker
from bench.replica_bench import ReplicaBench, fresh_name, request
from bench.waiting import until
from board_player import BoardPlayer
from conftest import assert_nothing_leaked
from postern_contract import messages
from postgres_server import postgres_server  # noqa: F401, a fixture

SECRET = "open the left barn door at dusk"
COMMAND = {"celsius": 21, "note": SECRET}
ANSWER = {"ok": True, "note": SECRET}


@pytest.fixture(scope="module")
def sending():
    """Commands of `postern` that run beside the test."""
    with ThreadPoolExecutor(8) as pool:
        yield pool


def send(pool, bench: AuthorityBench, board: BoardPlayer, *more) -> Future:
    """`postern send` of `COMMAND` to the app `heater`, which ends when it has a result."""
    return pool.submit(
        bench.cli, "send", board.iid, "heater", json.dumps(COMMAND), *more, timeout=120)


def commands(board: BoardPlayer) -> list[dict]:
    return [m for m in board.opened if m["type"] == "command"]


def result(board: BoardPlayer, command: dict, state: str, **members) -> dict:
    return board.new_request("command.result", re=command["id"], state=state,
                             sessionId=command["sessionId"], **members)


def confirmed(board: BoardPlayer, final: dict) -> None:
    """The authority has the result and says so, without members."""
    reply = board.exchange(final)
    assert set(reply) - {"nowMilliseconds"} == {"type", "id", "iat", "re", "now"}


def shown(bench: AuthorityBench, board: BoardPlayer, command: dict) -> dict:
    token = token_of(bench)
    status, answer = request(
        bench.http_port, "GET", f"/postern/v1/boards/{board.iid}/commands/{command['id']}",
        None, token)
    assert status == 200, answer
    return answer


def token_of(bench: AuthorityBench) -> str:
    """A login of the administrator, once for the file."""
    if not hasattr(bench, "token"):
        status, answer = request(
            bench.http_port, "POST", "/parse/login",
            {"username": ADMIN, "password": bench.password_file.read_text()})
        assert status == 200, answer
        bench.evidence.add_secret("a session token", answer["sessionToken"])
        bench.token = answer["sessionToken"]
    return bench.token


def test_a_command_is_sealed_delivered_and_answered(bench, evidence, sending):
    board = bench.live_board("answering")
    sent = send(sending, bench, board)
    command = board.wait_opened("command", timeout=60)
    messages.check_for_board(command)
    assert command["app"] == "heater" and command["command"] == COMMAND
    assert command["sessionId"] == board.held.session["objectId"] and "seq" not in command
    assert 1 <= command["deadline"] - command["iat"] <= 61
    board.send(result(board, command, "delivered"))
    until(lambda: shown(bench, board, command)["state"] == "delivered", "delivered", 60)
    confirmed(board, result(board, command, "answered", answer=ANSWER))
    done = sent.result()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ANSWER
    steps = [line for line in done.stderr.splitlines() if line.startswith("✓")]
    assert [step.split()[1] for step in steps] == ["sealed", "delivered", "answered"]
    # The broker and the log saw neither the command nor the answer.
    assert not any(SECRET.encode() in payload for _, payload in evidence.journal)
    assert SECRET not in bench.server.log
    audit = bench.cli_json("audit")
    events = [e for e in audit if e["event"].startswith("command.")]
    assert {e["event"] for e in events} == {"command.sent", "command.answered"}
    assert SECRET not in json.dumps(audit) and command["id"] in json.dumps(events)


def test_a_board_that_was_away_gets_it_when_it_connects(bench, sending):
    board = bench.live_board("away")
    board.link.drop()
    until(lambda: status_of(bench, board) == "down", "the board to be away", 60)
    sent = send(sending, bench, board, "--deadline", "10m", "--json")
    until(lambda: request(
        bench.http_port, "GET", f"/postern/v1/boards/{board.iid}/commands", None,
        token_of(bench))[1]["commands"], "the command to wait", 60)
    assert not commands(board)
    board.connect()
    command = board.wait_opened("command", timeout=60)
    confirmed(board, result(board, command, "answered", answer=None))
    done = sent.result()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "id": command["id"], "state": "answered", "answer": None, "delivered": True,
        "uncertain": False}


def status_of(bench: AuthorityBench, board: BoardPlayer) -> str | None:
    return request(bench.http_port, "GET", f"/postern/v1/boards/{board.iid}", None,
                   token_of(bench))[1]["status"]


def test_it_comes_again_under_its_id_until_the_board_has_it(bench, sending):
    board = bench.live_board("silent at first")
    sent = send(sending, bench, board, "--deadline", "5m")
    until(lambda: len(commands(board)) >= 2, "the command to come again", 60)
    first, second = commands(board)[:2]
    assert first | {"iat": 0} == second | {"iat": 0} and second["iat"] > first["iat"]
    board.send(result(board, first, "refused", error={
        "code": 142, "error": "the number must be at most 30", "rule": "policy.toml:app.heater",
        "field": "celsius"}))
    done = sent.result()
    assert done.returncode == 1
    assert "at most 30 (142), rule policy.toml:app.heater, field celsius" in done.stderr
    # A final result stays, and each repetition gets a reply.
    confirmed(board, result(board, first, "answered", answer=1))
    assert shown(bench, board, first)["state"] == "refused"


def test_it_expires_and_says_whether_the_app_had_it(bench, sending):
    board = bench.live_board("late")
    lost = send(sending, bench, board, "--deadline", "1s", "--json").result()
    # It was sent, and the board said nothing.
    assert lost.returncode == 1 and "may have got" in lost.stderr, lost.stderr
    assert json.loads(lost.stdout)["state"] == "expired"
    assert json.loads(lost.stdout)["uncertain"] is True
    before = len(commands(board))
    had = send(sending, bench, board, "--deadline", "20s")
    until(lambda: len(commands(board)) > before, "the command", 60)
    command = commands(board)[-1]
    board.send(result(board, command, "delivered"))
    done = had.result()
    assert done.returncode == 1 and "gave no answer in 20 s" in done.stderr
    # The board's word may be late.
    confirmed(board, result(board, command, "answered", answer=ANSWER))
    assert shown(bench, board, command)["answer"] == ANSWER


def test_it_ends_with_the_session(bench, sending):
    board = bench.live_board("revoked")
    board.link.drop()
    until(lambda: status_of(bench, board) == "down", "the board to be away", 60)
    sent = send(sending, bench, board, "--deadline", "10m")
    until(lambda: request(
        bench.http_port, "GET", f"/postern/v1/boards/{board.iid}/commands", None,
        token_of(bench))[1]["commands"], "the command to wait", 60)
    bench.revoke(board.held.session["objectId"])
    done = sent.result()
    assert done.returncode == 1 and "(209)" in done.stderr
    again = send(sending, bench, board).result()
    assert again.returncode == 77 and "no session now" in again.stderr
    board.connect().wait_opened("session.revoked")
    assert not commands(board)


def test_no_restricted_session_sends_one(bench):
    board, other = bench.live_board("own"), bench.live_board("other")
    status, made = request(
        bench.http_port, "POST", "/parse/sessions", {}, token_of(bench))
    assert status == 201, made
    bench.evidence.add_secret("a session token", made["sessionToken"])
    order = {"app": "heater", "command": 1}
    for token in (made["sessionToken"], other.held.session_token):
        status, answer = request(
            bench.http_port, "POST", f"/postern/v1/boards/{board.iid}/commands", order, token)
        assert status == 400 and answer["code"] in (119, 209), answer
    assert not commands(board)


@pytest.mark.slow
def test_replicas_share_a_command(
        tmp_path_factory, evidence, programs, postgres_server, sending):  # noqa: F811
    """One takes the order; the command and its result pass, whichever of them is killed."""
    broker = Broker("shared", tmp_path_factory.mktemp("broker"), "allow_anonymous true").start()
    house = ReplicaBench(
        tmp_path_factory.mktemp("replicas"), evidence, programs,
        postgres_server.new_database(fresh_name()), broker.port)
    try:
        board = house.live_board("shared")
        path = f"/postern/v1/boards/{board.iid}/commands"
        for killed in house.replicas:
            order = {"app": "heater", "command": COMMAND, "deadlineSeconds": 600}
            sent = request(killed.port, "POST", path, order, house.token)
            assert sent[0] == 201, sent
            killed.program.kill()
            until(lambda: any(c["id"] == sent[1]["id"] for c in commands(board)),
                  "the command from the other authority", 60)
            command = next(c for c in commands(board) if c["id"] == sent[1]["id"])
            confirmed(board, result(board, command, "answered", answer=ANSWER))
            assert house.ask("GET", f"{path}/{command['id']}")["state"] == "answered"
            killed.start()
    finally:
        house.close()
        broker.close()


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
