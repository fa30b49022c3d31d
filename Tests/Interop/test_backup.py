"""A house that goes back to a backup, and one that moves to PostgreSQL, with real boards."""

import json
import os

import pytest

from bench.program import run
from bench.waiting import until
from house_fixtures import house, house_settings  # noqa: F401, fixtures
from postgres_server import postgres_server  # noqa: F401, a fixture

pytestmark = pytest.mark.slow


def authority(house, *arguments):
    return house.must(house._authority(*arguments))


def generation_by_refresh(board):
    """Has the board refresh now; the generation after it."""
    before = board.generation
    board.command("session", "refresh")
    until(lambda: board.generation > before, "a refresh", 20)
    return board.generation


def test_boards_ahead_of_a_backup_are_kept_and_come_back(house, tmp_path):  # noqa: F811
    rotated, anew = house.live("rotated"), house.live("anew")
    backup = house.folder / "backup.db"
    told = json.loads(authority(house, "backup", "--to", backup, "--json"))
    assert told["boards"] == 2 and oct(backup.stat().st_mode)[-3:] == "600"
    house.evidence.ours.add(backup)
    generation_by_refresh(rotated)
    earlier = anew.session_id
    house.admin.claim(anew.pair("--new")).must_end()
    until(lambda: anew.session_id != earlier, "the session that came since", 30)
    first = anew.session_id

    restart(house, lambda: authority(house, "restore", "--from", backup))
    house.admin.login()

    # One bears a refresh token, the other a session, that this store never issued.
    for board, sign in ((rotated, "refresh"), (anew, "session")):
        until(board.is_online, "the board to come back", 60)
        board.command("session", "refresh", ok=(1, 3, 4, 5))
        until(lambda: board.status()["notIssuedThere"], "the board to be told", 30)
        assert board.session_now["state"] == "available"
        ahead = json.loads(authority(house, "restore", "--list", "--json"))["results"]
        assert board.iid in {one["installationId"] for one in ahead}
        assert not [e for e in house.audit(board) if e["event"] == "session.reuse"]
    assert anew.session_id == first
    assert "boards are ahead of the store" in house_run(house, "doctor", "--json").stdout

    # The way back: what waits in the queue stays, and leaves under the new session.
    house.consumer  # from now on
    anew.cable.pull()
    assert "seq" in anew.write(b'{"celsius":3}')
    url = anew.pair("--new")
    anew.cable.plug()
    house.admin.claim(url).must_end()
    house.admin.claim(rotated.pair("--new")).must_end()
    house.wait_data(anew, {b'{"celsius":3}'})
    until(lambda: not rotated.status()["notIssuedThere"], "the alarm to end on the board", 30)
    generation_by_refresh(rotated)
    assert json.loads(authority(house, "restore", "--list", "--json"))["results"] == []
    authority(house, "restore", "--settle")


def test_a_running_house_moves_with_every_session(house, postgres_server):  # noqa: F811
    board, gone = house.live("moves"), house.live("goes")
    generation = generation_by_refresh(board)
    session = board.session_id
    path = house.config / "authority.toml"
    uri = postgres_server.new_database("house")
    path.write_text(f'store = "{uri}"\n' + path.read_text())
    os.chmod(path, 0o640)
    for early in (["user", "list"], ["init", "--admin", "eve", "--password-file", house.password_file]):
        done = house_run(house, *early)
        if "built without PostgreSQL" not in done.stderr:
            assert done.returncode == 2 and "migrate --from sqlite" in done.stderr, done.stderr
    done = house._kept(house_run(house, "migrate", "--from", "sqlite", "--to", "postgres"))
    if "built without PostgreSQL" in done.stderr:
        pytest.skip("this program was built without PostgreSQL")
    assert done.returncode == 0, done.stderr
    assert "seq" in board.write(b'{"celsius":7}')
    # The service that still runs on the file keeps nothing any more.
    assert house_run(house, "user", "list").returncode == 0
    restart(house)
    house.admin.must("boards", "list")  # the login of before
    until(board.is_online, "the board to come back", 60)
    house.consumer  # from now on
    assert "seq" in board.write(b'{"celsius":8}')
    house.wait_data(board, {b'{"celsius":8}'})
    assert board.session_id == session
    assert generation_by_refresh(board) == generation + 1
    house.revoke(gone.session_id)
    gone.wait_session("unavailable")
    assert postgres_server.query("SELECT count(*) FROM users", "house") == "1"


def test_a_house_that_moved_goes_back_into_its_file(house, postgres_server):  # noqa: F811
    """By the lines of BACKUP.md: what was done in the database since is ahead of the file."""
    path = house.config / "authority.toml"
    if not path.read_text().startswith("store"):
        pytest.skip("the house has not moved")
    moved, still = (next(b for b in house.real_boards if b.name == name)
                    for name in ("moves", "anew"))
    until(still.is_online, "the board that did nothing since", 30)
    session = still.session_id
    generation = still.generation

    def back() -> None:
        done = house_run(house, "migrate", "--undo")
        assert done.returncode == 2 and "--discard" in done.stderr, done.stderr
        authority(house, "migrate", "--undo", "--discard")
        path.write_text(path.read_text().partition("\n")[2])

    restart(house, back)
    house.admin.must("boards", "list")  # the login of before the move
    until(still.is_online, "the board to come back", 60)
    assert generation_by_refresh(still) == generation + 1
    assert still.session_id == session and not still.status()["notIssuedThere"]
    until(moved.is_online, "the board to come back", 60)
    moved.command("session", "refresh", ok=(1, 3, 4, 5))
    until(lambda: moved.status()["notIssuedThere"], "the board to be told", 30)
    assert moved.session_now["state"] == "available"
    with pytest.raises(RuntimeError, match="moved to another store"):
        postgres_server.query("DELETE FROM audit", "house")


def restart(house, between=lambda: None):
    """Stops the service, and starts it again; consumers come anew."""
    if house._consumer is not None:
        house._consumer.close()
        house._consumer = None
    house.server.stop()
    between()
    house.start()


def house_run(house, *arguments):
    return run(house._authority(*arguments), timeout=60, env=house._environment)
