"""A store in PostgreSQL: backed up while it serves, and restored as BACKUP.md has it typed."""

import json
import shutil

import pytest

from bench.house import House
from bench.program import run
from bench.waiting import until
from postgres_server import USER, postgres_server  # noqa: F401, a fixture
from test_backup import authority, generation_by_refresh, house_run, restart

pytestmark = pytest.mark.slow


class StoredHouse(House):
    """A house whose records are in a database."""

    def __init__(self, folder, evidence, programs, server):
        self.postgres = server
        self.uri = server.new_database("house")
        super().__init__(folder, evidence, programs)
        self.key = folder / "state" / "authority.key"

    def _write_config(self, settings: str, http: str):
        config = super()._write_config(settings, http)
        path = config / "authority.toml"
        path.write_text(f'store = "{self.uri}"\n' + path.read_text())
        return config

    def empty_database(self) -> None:
        """The lines of BACKUP.md: what is there is kept under another name."""
        self.postgres.query("DROP DATABASE IF EXISTS house_before")
        self.postgres.query("ALTER DATABASE house RENAME TO house_before")
        self.tool("createdb", "-O", USER, "-T", "template0", "-E", "UTF8", "house")
        self.postgres.query("REVOKE CONNECT, TEMPORARY ON DATABASE house FROM PUBLIC")

    def tool(self, program: str, *arguments) -> str:
        return self.postgres._run(
            program, "-h", self.postgres.folder, "-p", self.postgres.port, "-U", USER,
            *arguments)

    def from_elsewhere(self, *arguments):
        """A command on another machine of the same store."""
        state = self.folder / "elsewhere"
        shutil.rmtree(state, ignore_errors=True)
        state.mkdir(mode=0o700)
        return self._kept(run(self._authority(*arguments), timeout=60, env={
            "POSTERN_STATE_DIR": str(state), "POSTERN_MASTER_KEY_FILE": str(self.key)}))


@pytest.fixture(scope="module")
def house(tmp_path_factory, evidence, programs, postgres_server):  # noqa: F811
    try:
        house = StoredHouse(tmp_path_factory.mktemp("stored"), evidence, programs,
                            postgres_server)
    except AssertionError as fault:
        if "built without PostgreSQL" in str(fault):
            pytest.skip("this program was built without PostgreSQL")
        raise
    yield house
    house.close()


def is_told(board) -> None:
    """That what it bears was not issued here; it keeps it."""
    until(board.is_online, "the board to come back", 60)
    board.command("session", "refresh", ok=(1, 3, 4, 5))
    until(lambda: board.status()["notIssuedThere"], "the board to be told", 60)
    assert board.session_now["state"] == "available"


def found_ahead(house) -> set[str]:
    told = json.loads(authority(house, "restore", "--list", "--json"))
    return {one["installationId"] for one in told["results"]}


def test_backup_of_a_running_store_goes_into_an_empty_database(house):
    steady, rotated, anew = (house.live(name) for name in ("steady", "rotated", "anew"))
    generation = generation_by_refresh(steady)
    session = steady.session_id
    backup = house.folder / "backup.db"
    told = json.loads(authority(house, "backup", "--to", backup, "--json"))
    assert (told["store"], told["boards"]) == ("postgres", 3)
    house.evidence.ours.add(backup)
    generation_by_refresh(rotated)
    earlier = anew.session_id
    house.admin.claim(anew.pair("--new")).must_end()
    until(lambda: anew.session_id != earlier, "the newer session", 60)

    done = house.from_elsewhere("restore", "--mark")
    assert done.returncode == 1 and "Stop every replica" in done.stderr, done.stderr
    done = house.from_elsewhere("restore", "--from", backup)
    assert done.returncode == 2 and "an empty database" in done.stderr, done.stderr

    def put_back() -> None:
        done = house_run(house, "restore", "--from", backup)
        assert done.returncode == 2 and "an empty database" in done.stderr, done.stderr
        house.empty_database()
        done = house_run(house, "backup", "--to", backup, "--replace")
        assert done.returncode == 2 and "has no authority" in done.stderr, done.stderr
        authority(house, "restore", "--from", backup)

    restart(house, put_back)
    house.admin.must("boards", "list")  # the login of before the backup
    until(steady.is_online, "the board to come back", 60)
    assert generation_by_refresh(steady) == generation + 1
    assert steady.session_id == session and not steady.status()["notIssuedThere"]
    for board in (rotated, anew):
        is_told(board)
    assert found_ahead(house) == {rotated.iid, anew.iid}
    assert not [e for e in house.audit() if e["event"] == "session.reuse"]

    # One comes back, the other is given up, and stays so through a restart.
    house.admin.claim(anew.pair("--new")).must_end()
    until(lambda: not anew.status()["notIssuedThere"], "the alarm to end on the board", 60)
    done = house_run(house, "restore", "--settle")
    assert done.returncode == 0 and "not set up again: 1" in done.stderr, done.stderr
    restart(house)
    until(rotated.is_online, "the board to come back", 60)
    rotated.command("session", "refresh", ok=(1, 3, 4, 5))
    rotated.wait_session("unavailable")
    assert found_ahead(house) == set()
    generation_by_refresh(anew)
    assert "nothing to settle" in house_run(house, "restore", "--settle").stderr


def test_state_that_came_back_by_other_means_is_marked(house):
    board = house.live("dumped")
    dump = house.postgres.folder / "house.dump"
    house.tool("pg_dump", "-Fc", "-f", dump, "house")
    generation_by_refresh(board)

    def put_back() -> None:
        house.empty_database()
        house.tool("pg_restore", "-d", "house", dump)
        authority(house, "restore", "--mark")

    restart(house, put_back)
    is_told(board)
    assert "alarm.restored" in {e["event"] for e in house.audit()}
    house.admin.claim(board.pair("--new")).must_end()
    until(lambda: not board.status()["notIssuedThere"], "the alarm to end on the board", 60)
    generation_by_refresh(board)
    authority(house, "restore", "--settle")
