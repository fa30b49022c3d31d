"""What the tests against the real authority share: one authority a file, and ways to ask it."""

from typing import Callable

import pytest

from bench.authority_bench import AuthorityBench
from bench.link import Link, Refused
from bench.waiting import until
from board_player import BoardPlayer
from postern_contract import base64url, sealed
from postern_contract.codes import ContractError


@pytest.fixture(scope="module")
def bench(tmp_path_factory, evidence, programs):
    """One authority for the whole file: each test brings boards of its own."""
    bench = AuthorityBench(tmp_path_factory.mktemp("authority"), evidence, programs)
    yield bench
    bench.close()
    # All that the authority said to these boards was of the published shapes.
    assert [fault for board in bench.boards for fault in board.faults] == []


def answered(board: BoardPlayer, publish: Callable[[], int]) -> int:
    """The reason code of what the board publishes; again where its connection is cut meanwhile."""
    def code() -> tuple[int] | None:
        try:
            if not board.link.is_up:
                board.connect()
            return (publish(),)
        except ConnectionError:
            return None

    return until(code, "the broker to answer")[0]


def refusal(board: BoardPlayer, type_: str, **members) -> int:
    """The number of the error that the authority answers with."""
    with pytest.raises(ContractError) as refused:
        board.ask(type_, **members)
    return refused.value.code


def sent_anew(board: BoardPlayer, request: dict) -> dict:
    """The reply to a request that is sent once, as it stands."""
    board.send(request)
    return until(lambda: board.reply_to(request["id"]), f"a reply to {request['type']}")


def replies_to(board: BoardPlayer, request: dict) -> list[bytes]:
    """All payloads on this connection that answer the request."""
    authority = base64url.decode(board.held.provision["authority"]["sealKey"])

    def answers(message) -> bool:
        try:
            body = sealed.open_auth(message.payload, message.topic, board.key, authority)
        except sealed.CannotOpen:
            return False
        return body.get("re") == request["id"]

    return [m.payload for m in board.link.heard if answers(m)]


def can_log_in(board: BoardPlayer) -> bool:
    """Whether the broker lets the board in with its newest password."""
    try:
        Link(board.login(board.broker_password)).open().close()
        return True
    except Refused:
        return False


def wait_removed(board: BoardPlayer) -> None:
    """A trial of the login would take the board's place before it has confirmed the end."""
    until(lambda: not board.link.is_up, "the broker to end the board's connection", 60)
    until(lambda: not can_log_in(board), "the client to be removed", 60)


def is_over(board: BoardPlayer) -> bool:
    """209 to a heartbeat, or no way in at the broker any more."""
    if not board.link.is_up and not can_log_in(board):
        return True
    try:
        return refusal(board, "session.authenticate",
                       sessionToken=board.held.session_token) == 209
    except AssertionError:
        return not board.link.is_up
