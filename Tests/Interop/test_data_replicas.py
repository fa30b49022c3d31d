"""Two authorities on one PostgreSQL keep one stream of data: each is killed in the middle of it."""

import threading

import pytest

from bench.broker import Broker
from bench.replica_bench import ReplicaBench, fresh_name
from bench.waiting import until
from postgres_server import postgres_server  # noqa: F401, a fixture

pytestmark = pytest.mark.slow

COUNT = 4000


@pytest.fixture(scope="module")
def database() -> str:
    return fresh_name()


@pytest.fixture(scope="module")
def house(tmp_path_factory, evidence, programs, postgres_server, database):  # noqa: F811
    broker = Broker("foreign", tmp_path_factory.mktemp("broker"), "allow_anonymous true",
                    "max_inflight_messages 2048").start()
    house = ReplicaBench(
        tmp_path_factory.mktemp("replicas"), evidence, programs,
        postgres_server.new_database(database), broker.port)
    yield house
    house.close()
    broker.close()


def test_a_killed_one_loses_none_and_repeats_none(house, postgres_server, database):  # noqa: F811
    def kept() -> list[int]:
        rows = postgres_server.query(
            "SELECT count(*), count(DISTINCT seq) FROM data_records", database)
        return [int(number) for number in rows.replace("|", " ").split()]

    board = house.live_board("stream")

    def send() -> None:
        for number in range(COUNT):
            assert board.publish_data("Reading", "create", b'{"celsius":%d}' % number) < 0x80

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    for number, replica in enumerate([*house.replicas, *house.replicas]):
        until(lambda: kept()[0] > (number + 1) * COUNT // 6, "records", 60)
        replica.program.kill()
        replica.start()
    sender.join(120)
    assert not sender.is_alive()
    until(lambda: kept()[0] >= COUNT, "all records", 60)
    assert kept() == [COUNT, COUNT]
