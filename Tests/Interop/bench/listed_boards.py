"""Boards that no program plays, made by SQL in the store of an authority that is stopped: a list
of boards has only to find them."""

import sqlite3
import uuid
from dataclasses import dataclass, field

from .house import House

_STATUS = ('{"gapRanges":[],"gaps":0,"queue":0,"refused":0,"session":"available",'
           '"since":1700000000,"status":"%s","version":"0.1"}')


@dataclass
class ListedBoard:
    name: str
    owner: str = "ada"
    is_up: bool = True
    labels: tuple[str, ...] = ()
    iid: str = field(default_factory=lambda: str(uuid.uuid4()))


def add_boards(house: House, boards: list[ListedBoard]) -> None:
    """Adds the boards while the authority is stopped, and starts it again."""
    house.server.stop()
    with sqlite3.connect(house.folder / "state" / "authority.db") as database:
        owners = dict(database.execute("SELECT username, id FROM users"))
        for board in boards:
            labels = f" {' '.join(sorted(board.labels))} " if board.labels else ""
            database.execute(
                "INSERT INTO boards (id, name, device_key, owner, released, owned_since, name_key,"
                " labels) VALUES (?, ?, randomblob(32), ?, 0, 0, ?, ?)",
                (board.iid, board.name, owners[board.owner], board.name.lower(), labels))
            database.execute(
                "INSERT INTO statuses (installation_id, status) VALUES (?, ?)",
                (board.iid, _STATUS % ("up" if board.is_up else "down")))
    database.close()
    house.start()
