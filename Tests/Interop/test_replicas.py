"""Two authorities on one PostgreSQL and one mosquitto: restarted in turn, and killed, under load."""

import subprocess

import pytest

from bench.broker import Broker
from bench.replica_bench import Load, ReplicaBench, UnsharingBroker, fresh_name, request
from bench.waiting import until
from conftest import assert_nothing_leaked
from postgres_server import postgres_server  # noqa: F401, a fixture

pytestmark = pytest.mark.slow

BOARDS = 3


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    broker = Broker(
        "foreign", tmp_path_factory.mktemp("broker"), "allow_anonymous true").start()
    yield broker
    broker.close()


@pytest.fixture(scope="module")
def house(tmp_path_factory, evidence, programs, postgres_server, broker):  # noqa: F811
    uri = postgres_server.new_database(fresh_name())
    house = ReplicaBench(
        tmp_path_factory.mktemp("replicas"), evidence, programs, uri, broker.port)
    yield house
    house.close()


@pytest.fixture(scope="module")
def boards(house):
    return [house.live_board(f"board-{number}") for number in range(BOARDS)]


def audited(house) -> list[str]:
    return [e["event"] for e in house.ask("GET", "/postern/v1/audit?limit=1000")["results"]]


def answered_once(board) -> None:
    """All replies to one request are one reply."""
    replies: dict[str, list] = {}
    for body in board.opened:
        if body["type"] == "reply":
            replies.setdefault(body["re"], []).append(body)
    assert replies
    for several in replies.values():
        assert all(body == several[0] for body in several)


def no_harm_done(house, boards) -> None:
    """One live session a board, the one it always had, and nobody taken for a thief."""
    for board in boards:
        found = house.sessions_of(board)
        assert [s["objectId"] for s in found] == [board.held.session["objectId"]]
        assert board.ended is None and board.faults == []
        answered_once(board)
    assert not [event for event in audited(house) if "reuse" in event or "forged" in event]


def beat_and_refresh(board):
    def act() -> None:
        board.beat()
        board.refresh()
    return act


def test_second_serves_what_the_first_has(house, boards):
    other = house.replicas[1]
    status, answer = request(other.port, "GET", "/postern/v1/boards", token=house.token)
    assert status == 200
    assert {b["name"] for b in answer["results"]} >= {b.name for b in boards}


def test_another_master_key_is_refused_by_name(house):
    key = house.folder / "another.key"
    key.touch(0o600)
    key.write_bytes(bytes(32))
    state = house.folder / "state-3"
    state.mkdir(mode=0o700)
    done = house.run_authority(
        "serve", POSTERN_MASTER_KEY_FILE=str(key), POSTERN_STATE_DIR=str(state))
    assert done.returncode == 78
    assert str(key) in done.stderr and "master key" in done.stderr


def test_second_init_changes_nothing(house):
    done = house.run_authority(
        "init", "--admin", "eve", "--password-file", str(house.password_file))
    assert done.returncode == 2 and "nothing was changed" in done.stderr


def test_two_inits_at_once_make_one_set_of_keys(
        tmp_path, programs, postgres_server, house):  # noqa: F811
    database = fresh_name()
    uri = postgres_server.new_database(database)
    key = tmp_path / "master.key"
    running = []
    for number in range(2):
        config, state = tmp_path / f"etc-{number}", tmp_path / f"state-{number}"
        config.mkdir(mode=0o700)
        state.mkdir(mode=0o700)
        (config / "authority.toml").write_text(
            f'store = "{uri}"\nmaster_key_file = "{key}"\nstate_dir = "{state}"\n')
        running.append(subprocess.Popen(
            [programs / "postern-authority", "--config-dir", config, "init", "--admin", "ada",
             "--password-file", house.password_file],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    words = [process.communicate(timeout=60)[1] for process in running]
    assert sorted(process.returncode for process in running) == [0, 2], words
    assert any("nothing was changed" in text for text in words)
    assert postgres_server.query(
        "SELECT kind FROM keys ORDER BY kind", database).split() == sorted(
        ["broker-password", "refresh", "seal", "signing", "token-hash"])


def test_rolling_restart_fails_no_request(house, boards):
    """A request that was let in is answered; a board is not even kept waiting."""
    page = Load(lambda: house.ask("GET", "/postern/v1/boards"))
    loads = [Load(beat_and_refresh(board)) for board in boards]
    for replica in house.replicas:
        assert replica.program.stop(30) == 0
        # What is cut short at a planned end is nobody's trouble.
        assert "cancelled" not in replica.program.log
        for load in loads:
            load.progress()
        replica.start()
    page.progress()
    for load in [page, *loads]:
        load.end()
        assert load.faults == [], load.faults
    # A board repeats what is not answered after ten seconds.
    assert max(load.slowest for load in loads) < 9
    no_harm_done(house, boards)


def test_leaving_is_told_to_who_asks(house):
    replica = house.replicas[1]
    process = replica.program.process
    process.terminate()
    until(lambda: replica.health() == 503, "503 from the one that leaves", 60)
    # Who does not ask is answered while others may still send him here.
    assert request(replica.port, "GET", "/postern/v1/info")[0] == 200
    assert process.wait(30) == 0
    replica.program.stop()
    replica.start()


def test_killed_one_loses_nothing_and_repeats_nothing(house, boards):
    loads = [Load(beat_and_refresh(board)) for board in boards]
    for replica in [*house.replicas, *house.replicas]:
        for load in loads:
            load.progress()
        replica.program.kill()
        for load in loads:
            load.progress()
        replica.start()
    for load in loads:
        load.end()
        assert load.faults == [], load.faults
    no_harm_done(house, boards)


def test_database_away_ends_nobody(house, boards, postgres_server):  # noqa: F811
    loads = [Load(beat_and_refresh(board)) for board in boards]
    postgres_server.stop(immediate=True)
    until(lambda: all(r.health() == 503 for r in house.replicas), "503 without a database", 60)
    postgres_server.start()
    until(lambda: all(r.health() == 200 for r in house.replicas), "both to be well again", 60)
    for load in loads:
        load.progress()
        load.end()
        assert load.faults == [], load.faults
    no_harm_done(house, boards)


def test_no_earlier_state_is_put_under_one_that_serves(house):
    """Also after the database was away: their places are taken again."""
    state = house.folder / "state-4"
    state.mkdir(mode=0o700)

    def mark():
        return house.run_authority("restore", "--mark", POSTERN_STATE_DIR=str(state))

    until(lambda: mark().returncode == 1, "the replicas to have their places again", 60)
    first = house.replicas[0]
    assert first.program.stop(30) == 0
    done = mark()
    assert done.returncode == 1 and "Stop every replica" in done.stderr
    first.start()
    assert "alarm.restored" not in audited(house)


def test_what_a_dead_one_left_undone_is_done_by_the_other(house, broker):
    """A revocation is in the store, and no broker is there to be told of it."""
    first = house.replicas[0]
    board = house.live_board("orphan")
    broker.stop()
    path = f"/parse/sessions/{board.held.session['objectId']}"
    status, answer = request(first.port, "DELETE", path, token=house.token)
    assert status == 200, answer
    first.program.kill()
    broker.start()
    board.connect()
    until(lambda: board.ended, "the board to hear of its end", 60)
    first.start()


def test_nothing_leaked(evidence):
    assert_nothing_leaked(evidence)


@pytest.fixture(scope="module")
def unshared(tmp_path_factory, evidence, programs, postgres_server, broker):  # noqa: F811
    way = UnsharingBroker(broker)
    house = ReplicaBench(
        tmp_path_factory.mktemp("unshared"), evidence, programs,
        postgres_server.new_database(fresh_name()), way.port)
    yield house
    house.close()
    way.close()


def test_one_reads_where_nothing_is_shared_and_another_takes_over(unshared):
    board = unshared.live_board("alone")
    before = len(board.opened)
    board.beat()
    replies = [b for b in board.opened[before:] if b["type"] == "reply"]
    assert len(replies) == 1
    for _ in range(2):
        reader = next(r for r in unshared.replicas if reads(r))
        reader.program.kill()
        other = next(r for r in unshared.replicas if r is not reader)
        until(lambda: reads(other), "the other to read", 60)
        load = Load(board.beat)
        load.progress()
        assert load.end().faults == []
        reader.start()
    answered_once(board)


def reads(replica) -> bool:
    """Whether this one has said, since its start, that it is the one."""
    return replica.program.is_running and "messages for all from now on" in replica.program.log
