"""`postern claims` with real boards: files, fingerprints, accepting by name and by label, a copied
file, and the end of a claim. Each result is by its claim."""

import json
import shutil
from pathlib import Path

import pytest

from bench.house import HouseBoard
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, house_settings  # noqa: F401, fixtures


@pytest.fixture
def files(house, tmp_path):  # noqa: F811
    """Prepares claims, and gives the files by their names."""
    def prepare(count: int, name: str, *more) -> dict[str, Path]:
        folder = tmp_path / name.partition("-")[0]
        made = json.loads(house.admin.must("claims", "prepare", "--count", count, "--out", folder,
                                           "--name", name, *more, "--json"))
        assert folder.stat().st_mode & 0o777 == 0o700
        found = {row["name"]: Path(row["file"]) for row in made}
        assert sorted(folder.iterdir()) == sorted(found.values())
        for name, path in found.items():
            assert path.name == f"{name}.claim" and path.stat().st_mode & 0o777 == 0o600
            house.evidence.add_secret(
                f"the secret of {name}", json.loads(path.read_text())["secret"])
        return found

    return prepare


def flashed(house, name: str, file: Path) -> HouseBoard:  # noqa: F811
    """A board that starts with the file."""
    board = house.add_board(name)
    shutil.copy(file, board.config / "claim")
    board.start()
    return board


def listed(house) -> dict[str, dict]:  # noqa: F811
    return {row["name"]: row for row in house.cli_json("claims", "list")}


def wait_asking(house, names: set[str]) -> dict[str, dict]:  # noqa: F811
    def asking() -> dict | None:
        rows = {name: row for name, row in listed(house).items()
                if name in names and row["state"] == "asking"}
        return rows if set(rows) == names else None

    return until(asking, f"{names} to ask", 60)


def test_boards_ask_and_are_accepted_by_name_and_by_label(house, files):  # noqa: F811
    boards = {name: flashed(house, name, file)
              for name, file in files(3, "pi-{n}", "--label", "barn").items()}
    rows = wait_asking(house, set(boards))
    for name, row in rows.items():
        assert row["board"]["fingerprint"] == boards[name].status()["joining"]["fingerprint"]
        assert row["board"]["installationId"] == boards[name].iid and row["labels"] == ["barn"]
    one = house.admin.cli("claims", "accept", "pi-1", "--json")
    assert one.returncode == 0, one.stderr
    assert f"pi-1 ({rows['pi-1']['board']['fingerprint']}): accepted" in one.stderr
    unasked = house.admin.cli("claims", "accept", "--label", "barn")
    assert unasked.returncode == 2 and "--yes" in unasked.stderr
    rest = house.admin.cli("claims", "accept", "--label", "Barn", "--yes", "--json")
    assert rest.returncode == 0, rest.stderr
    assert {one["name"] for one in json.loads(rest.stdout) if one["done"]} == {"pi-2", "pi-3"}
    for name, board in boards.items():
        board.wait_session("available")
        assert not (board.config / "claim").exists()
    until(lambda: {row["name"] for row in house.cli_json("boards", "list", "--label", "barn")}
          == set(boards), "the boards with their label", 60)
    nobody = house.admin.cli("claims", "accept", "--all", "--yes")
    assert nobody.returncode == 2 and "no board asks" in nobody.stderr


def test_a_copied_file_lets_neither_board_in(house, files):  # noqa: F811
    made = files(2, "mast-{n}")
    flashed(house, "mast-1", made["mast-1"])
    flashed(house, "mast-2", made["mast-2"])
    wait_asking(house, {"mast-1", "mast-2"})
    flashed(house, "copy", made["mast-2"])
    until(lambda: listed(house)["mast-2"]["secondAt"], "the second board to be seen", 60)
    assert "mast-2" in house.admin.cli("claims").stderr
    done = house.admin.cli("claims", "accept", "--all", "--yes", "--json")
    assert done.returncode == 3, done.stderr
    outcomes = {one["name"]: one["done"] for one in json.loads(done.stdout)}
    assert outcomes == {"mast-1": True, "mast-2": False}
    alone = house.admin.cli("claims", "accept", "mast-2")
    assert alone.returncode == 1 and "two boards" in alone.stderr
    ended = house.admin.cli("claims", "end", "mast-2", "--json")
    assert ended.returncode == 0 and json.loads(ended.stdout)[0]["done"], ended.stderr
    assert "mast-2" not in listed(house)


def test_nothing_leaked(house):  # noqa: F811
    assert_nothing_leaked(house.evidence)
