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
    # A new claim has it come to the broker again: offline, it asks for nothing.
    until(lambda: json.loads(board.command("session", "refresh", "--json", ok=(0, 1, 3, 4, 5)))[
        "result"] == "done", "a refresh", 60)
    until(lambda: board.generation > before, "its generation", 60)
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
    until(lambda: anew.session_id != earlier, "the newer session", 60)
    first = anew.session_id

    restart(house, lambda: authority(house, "restore", "--from", backup))
    house.admin.login()

    # One bears a refresh token, the other a session, that this store never issued.
    for board, sign in ((rotated, "refresh"), (anew, "session")):
        until(board.is_online, "the board to come back", 60)
        board.command("session", "refresh", ok=(1, 3, 4, 5))
        until(lambda: board.status()["notIssuedThere"], "the board to be told", 60)
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
    until(lambda: not rotated.status()["notIssuedThere"], "the alarm to end on the board", 60)
    generation_by_refresh(rotated)
    assert json.loads(authority(house, "restore", "--list", "--json"))["results"] == []
    authority(house, "restore", "--settle")


def test_a_house_moves_into_a_database_with_every_session(house, postgres_server):  # noqa: F811
    """By the lines of BACKUP.md."""
    board, gone = house.live("moves"), house.live("goes")
    generation = generation_by_refresh(board)
    session = board.session_id
    path = house.config / "authority.toml"
    uri = postgres_server.new_database("house")
    path.write_text(f'store = "{uri}"\n' + path.read_text())
    os.chmod(path, 0o640)
    for early in (["user", "list"], ["init", "--admin", "eve", "--password-file", house.password_file]):
        done = house_run(house, *early)
        if "built without PostgreSQL" in done.stderr:
            pytest.skip("this program was built without PostgreSQL")
        assert done.returncode == 2 and "postern-authority migrate" in done.stderr, done.stderr
    done = house_run(house, "migrate")
    assert done.returncode == 1 and "runs with" in done.stderr, done.stderr

    def move() -> None:
        assert "seq" in board.write(b'{"celsius":7}')
        rows = json.loads(authority(house, "migrate", "--json"))["rows"]
        assert rows["users"] == 1 and rows["boards"] >= 2

    restart(house, move)
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
    done = house_run(house, "migrate")
    assert done.returncode == 1 and "runs with" in done.stderr, done.stderr


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
