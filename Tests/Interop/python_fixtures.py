"""What the tests of the Python library share: a board as it is shipped."""

import json
from pathlib import Path

import pytest

from bench.shipped_board import ShippedBoard

DEVICES = Path(__file__).resolve().parents[2] / "Devices"
LIBRARY = DEVICES / "python"


@pytest.fixture
def board(tmp_path, evidence, programs):
    board = ShippedBoard(tmp_path, evidence, programs, "thermo")
    yield board
    board.close()
    board.assert_conforms()


@pytest.fixture
def login(board) -> dict:
    """How an app reaches this board's bus."""
    return {"bus": f"unix:{board.bus.socket}", "password": board.bus.passwords["thermo"]}


def records(board: ShippedBoard) -> list[tuple[int, dict]]:
    """What arrived upstream, in order. A message of QoS 1 that came twice is one record."""
    found = {(int(m.user["seq"]), m.payload) for m in board.data_heard()}
    return sorted((seq, json.loads(payload)) for seq, payload in found)
