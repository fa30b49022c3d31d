"""Prepared claims from end to end: the real authority makes the file, the real agent uses it."""

import json
import shutil

import pytest

from bench.house import HouseBoard
from bench.waiting import until
from house_fixtures import house, house_settings  # noqa: F401, fixtures


@pytest.fixture
def prepare(house, tmp_path):  # noqa: F811
    def new(*options) -> dict:
        """The files by their names, as `postern claims prepare` writes them."""
        house.admin.must("claims", "prepare", "--out", tmp_path / "claims", *options)
        files = {f.stem: f for f in (tmp_path / "claims").glob("*.claim")}
        for file in files.values():
            house.evidence.add_secret("a prepared claim's secret",
                                      json.loads(file.read_text())["secret"])
            house.evidence.ours.add(file)
        return files

    return new


def flash(board: HouseBoard, file) -> None:
    shutil.copy(file, board.config / "claim")
    (board.config / "claim").chmod(0o600)


def is_left(board: HouseBoard) -> bool:
    return any((folder / "claim").exists() for folder in (board.config, board.folder / "state"))


def asking(house, name: str) -> dict | None:  # noqa: F811
    claims = house.admin.http("GET", "/postern/v1/prepared-claims")[1]["claims"]
    one = next(c for c in claims if c["name"] == name)
    return one if one["state"] == "asking" else None


def wait_asking(house, name: str) -> dict:  # noqa: F811
    return until(lambda: asking(house, name), f"{name} to ask to join", 60)


def accept(house, name: str) -> None:  # noqa: F811
    house.admin.must("claims", "accept", name, "--yes")


def test_two_cards_are_flashed_accepted_and_send(house, prepare):  # noqa: F811
    files = prepare("--count", "2", "--name", "shed-{n}")
    boards = {name: house.add_board(f"own-{name}") for name in files}
    for name, board in boards.items():
        flash(board, files[name])
        board.start()
    for name, board in boards.items():
        shown = wait_asking(house, name)["board"]
        assert not is_left(board)
        status = board.status()
        assert status["joining"]["fingerprint"] == shown["fingerprint"]
        assert status["installationId"] == shown["installationId"]
    # Power fails while they wait.
    for board in boards.values():
        board.agent.kill()
        board.start()
    for name, board in boards.items():
        accept(house, name)
        board.wait_settled()
        assert board.status()["joining"] is None
        assert board.write()["seq"] >= 1
    known = {b["installationId"]: b["name"] for b in house.cli_json("boards", "list")}
    assert {known[board.iid] for board in boards.values()} == set(files)


def test_a_claim_secret_that_is_new_while_the_board_asks_is_the_one_that_counts(
        house, prepare):  # noqa: F811
    files = prepare("--name", "renewed")
    board = house.add_board("renewed")
    flash(board, files["renewed"])
    board.start()
    wait_asking(house, "renewed")
    board.pair("--new")
    until(lambda: board.status()["joining"]["state"] == "asked", "the new secret", 60)
    accept(house, "renewed")
    board.wait_settled()


def test_a_copied_card_does_not_harm_the_first_board(house, prepare):  # noqa: F811
    files = prepare("--name", "copied")
    first, second = house.add_board("first"), house.add_board("second")
    flash(first, files["copied"])
    first.start()
    wait_asking(house, "copied")
    accept(house, "copied")
    first.wait_settled()
    flash(second, files["copied"])
    second.start()
    until(lambda: "asks to join" in second.agent.log, "the second board to ask", 60)
    alerts = until(lambda: [a for a in house.cli_json("alerts", "list")
                            if a["kind"] == "claim-used-twice"], "the alert", 60)
    assert alerts
    assert second.status()["state"] == "unavailable"
    assert first.write()["seq"] >= 1


def test_a_card_of_an_ended_claim_is_let_in_nowhere(house, prepare):  # noqa: F811
    files = prepare("--name", "ended")
    house.admin.must("claims", "end", "ended")
    board = house.add_board("ended")
    flash(board, files["ended"])
    board.start()
    until(lambda: "prepared claim has ended" in board.agent.log, "the refusal in the log", 60)
    assert not is_left(board) and board.status()["state"] == "unavailable"


def test_a_board_with_a_session_takes_no_file(house, prepare):  # noqa: F811
    files = prepare("--name", "spare")
    board = house.live("has-session")
    board.agent.stop()
    flash(board, files["spare"])
    board.start()
    assert "erased and not taken: this board has a session" in board.agent.log
    assert not is_left(board) and board.status()["claimFile"] is None
    board.wait_settled()
    assert board.write()["seq"] >= 1
