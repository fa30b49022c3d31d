"""Tokens that were made elsewhere, ends that move, and keys that change, on real boards."""

import base64
import json
import secrets
import threading
import time
from pathlib import Path

import pytest

from bench.house import House, HouseBoard
from bench.link import Message
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, house_settings, measure  # noqa: F401, fixtures
from postern_contract import topics

DAY = 86_400


def refresh(board: HouseBoard, *more: str) -> dict:
    """What `session refresh` says once the board is online."""
    said = {}

    def is_answered() -> bool:
        said.update(json.loads(board.command("session", "refresh", *more, "--json",
                                             ok=(0, 1, 4, 5))))
        return said["result"] not in ("offline", "late")

    until(is_answered, "a refresh to be answered", 60)
    return said


def session_file(house: House, name: str, content: dict | str) -> Path:
    """A file as `claim --session-file` takes it; its tokens are put down as evidence."""
    path = house.folder / name
    path.touch(0o600)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    house.evidence.ours.add(path)
    token = content if isinstance(content, str) else content["sessionToken"]
    house.evidence.add_secret("a brought session token", token.strip())
    return path


def opaque() -> str:
    return "r:" + base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")


def claim_with(house: House, name: str, content: dict | str):
    """A board that is claimed with brought tokens, and its claim."""
    board = house.add_board(name)
    url = board.pair()
    board.start()
    return board, house.admin.claim(
        url, "--session-file", session_file(house, f"{board.folder.name}-session", content))


def assert_for_its_board_alone(house: House, token: str) -> None:
    """Given to a board, a token counts on that board's outbox and nowhere else."""
    assert house.admin.http("GET", "/parse/sessions/me", token=token)[1]["code"] == 209


# Bring your own token.


def test_session_that_the_authority_made(house):
    status, made = house.admin.http("POST", "/parse/sessions", {"fleet": "north"})
    assert status == 201 and made["restricted"] is True
    house.evidence.add_secret("a made session token", made["sessionToken"])
    board, claim = claim_with(house, "hydrated", {"sessionToken": made["sessionToken"]})
    claim.must_end()
    board.wait_settled()
    assert board.session_id == made["objectId"]
    assert board.session_now["session"]["fleet"] == "north"
    assert house.show(made["objectId"])["installationId"] == board.iid
    assert_for_its_board_alone(house, made["sessionToken"])
    assert refresh(board)["result"] == "done"
    assert house.show(made["objectId"])["generation"] >= 1
    assert "seq" in board.write()


@pytest.mark.parametrize("form", ["text", "JSON"])
def test_opaque_token_that_nobody_here_knows(house, form):
    token = opaque()
    content = token + "\n" if form == "text" else {"sessionToken": token, "origin": "app"}
    board, claim = claim_with(house, f"brought as {form}", content)
    claim.must_end()
    assert "note:" in claim.program.log, "what cannot be validated is said"
    board.wait_settled()
    shown = house.show(board.session_id)
    assert (shown["restricted"], shown["state"]) == (True, "active")
    if form == "JSON":
        assert shown["custom"] == {"origin": "app"}
    assert_for_its_board_alone(house, token)
    assert refresh(board)["result"] == "done"


@pytest.mark.parametrize("access", ["garbage", "a.b.c", "eyJhbGciOiJub25lIn0.e30."])
def test_access_token_that_cannot_be_validated(house, access):
    board, claim = claim_with(house, "refused",
                              {"sessionToken": opaque(), "accessToken": access})
    words = claim.must_fail()
    assert "cannot be validated" in words and access not in words
    assert board.session_now["reason"] == "unclaimed"
    house.admin.claim(board.pair()).must_end()


def test_session_token_of_another_user(house):
    stranger = house.user("sam", "--claim")
    _, made = stranger.http("POST", "/parse/sessions", {})
    house.evidence.add_secret("a made session token", made["sessionToken"])
    board, claim = claim_with(house, "not yours", {"sessionToken": made["sessionToken"]})
    assert "119" in claim.must_fail() or "another user" in claim.program.log
    assert board.session_now["reason"] == "unclaimed"


# Ends that move.


def wait_later_end(board: HouseBoard, first: int, mark: int) -> Message:
    """What the bus says of a session that ends later than before; it may repeat the old end."""
    def says(message: Message) -> bool:
        body = json.loads(message.payload or b"{}") if message.topic == topics.BUS_SESSION else {}
        return (body.get("session", {}).get("expiresAt") or 0) > first

    return board.watcher.wait(says, "a later end on the bus", since=mark, timeout=60)


def test_extension_reaches_the_board(house, measure):
    board = house.live("extended", "--duration", "1h")
    session, first = board.session_id, board.session_now["session"]["expiresAt"]
    mark, begun = board.watcher.mark(), time.monotonic()
    house.admin.must("sessions", "extend", session, "20d")
    notice = wait_later_end(board, first, mark)
    measure.milliseconds("sessions extend: told on the bus after", notice.at - begun)
    last = json.loads(notice.payload)["session"]["expiresAt"]
    assert abs(last - (time.time() + 20 * DAY)) < 120
    assert house.show(session)["expiresAt"] == last
    house.wait_event("session.extended", session, 60)


def test_board_asks_for_an_extension(house):
    board = house.live("asking", "--duration", "1h")
    session, first = board.session_id, board.session_now["session"]["expiresAt"]
    mark = board.watcher.mark()
    refresh(board, "--for", "10d")
    last = json.loads(wait_later_end(board, first, mark).payload)["session"]["expiresAt"]
    assert abs(last - (time.time() + 10 * DAY)) < 120
    assert house.show(session)["expiresAt"] == last


def test_extension_never_shortens_unless_told(house):
    board = house.live("kept long", "--duration", "2d")
    before = house.show(board.session_id)["expiresAt"]
    done = house.admin.cli("sessions", "extend", board.session_id, "1d")
    assert done.returncode == 2, done.stderr
    assert "would be earlier" in done.stderr and "--shorten" in done.stderr, done.stderr
    assert house.show(board.session_id)["expiresAt"] == before
    told = house.admin.must("sessions", "extend", board.session_id, "1d", "--shorten", "--json")
    last = json.loads(told)["expiresAt"]
    assert abs(last - (time.time() + DAY)) < 60
    assert house.show(board.session_id)["expiresAt"] == last


@pytest.mark.parametrize("span, said", [("31d", "can last until"), ("1m", "5 minutes"), ("366d", "1 year")])
def test_no_extension_past_the_limits(house, span, said):
    board = house.live(f"limited to {span}", "--duration", "1h")
    before = house.show(board.session_id)["expiresAt"]
    done = house.admin.cli("sessions", "extend", board.session_id, span)
    assert done.returncode != 0 and said in done.stderr, done.stderr
    assert house.show(board.session_id)["expiresAt"] == before


# Keys that change.


def keys(house: House, *command: str) -> list[dict]:
    return json.loads(house.must(house._authority("keys", *command, "--json")))["results"]


def test_key_rotation_while_boards_are_online(house, measure):
    house.consumer
    boards = [house.live(f"rotated {n}") for n in range(2)]
    assert all(refresh(board)["result"] == "done" for board in boards)
    [old] = [k for k in keys(house, "list") if k["state"] == "signing"]
    sent, stop = set(), threading.Event()

    def write_on() -> None:
        while not stop.is_set():
            payload = b"rotation %d" % len(sent)
            assert "seq" in boards[0].write(payload)
            sent.add(payload)

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        begun = time.monotonic()
        after = keys(house, "rotate")
        [new] = [k for k in after if k["state"] == "signing"]
        assert new["kid"] != old["kid"]
        [published] = [k for k in after if k["kid"] == old["kid"]]
        assert published["state"] == "published" and published["publishedUntil"] > time.time()
        until(lambda: "a new key signs" in house.server.log, "the service to take the key", 60)
        measure.milliseconds("keys rotate: taken by the service after", time.monotonic() - begun)
        for board in boards:
            before = board.generation
            assert refresh(board)["result"] == "done"
            assert board.generation > before
            wait_verified(board)
    finally:
        stop.set()
        writer.join(20)
    assert len(sent) > 2
    house.wait_data(boards[0], sent)
    # QoS 1 may bring one twice.
    numbers = list(dict.fromkeys(int(m.user["seq"]) for m in house.data(boards[0])))
    assert numbers == sorted(numbers) and len(numbers) == len(sent)
    for board in boards:
        board.agent.kill()
        mark = board.watcher.mark()
        board.start()
        board.wait_session("available", since=mark)
        wait_verified(board)


def wait_verified(board: HouseBoard) -> None:
    """The board knows the key of the token that it holds, or has asked and refreshed again."""
    until(board.is_online, "the board to be online", 60)
    assert refresh(board)["result"] == "done"
    assert "does not verify" not in board.agent.log
    assert board.session_now["state"] == "available"


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
