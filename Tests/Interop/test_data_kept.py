"""What boards send is kept once: real boards, a real broker, and an authority that is killed."""

import json
import sqlite3
import statistics
import threading
import time

import pytest

from bench.house import House
from bench.open_house import OpenHouse
from bench.waiting import until
from house_fixtures import Measure, house, house_settings, measure  # noqa: F401, fixtures
from postern_contract import topics


def kept(house, board) -> list[int]:  # noqa: F811
    """The sequence numbers that the authority has of a board, each as often as it is there."""
    path = house.folder / "state" / "data.db"
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
    try:
        rows = database.execute(
            "SELECT seq FROM records JOIN feeds ON feeds.id = feed WHERE board = ? ORDER BY seq",
            (board.iid,)).fetchall()
    finally:
        database.close()
    return [number for (number,) in rows]


def wait_kept(house, board, count: int, timeout: float = 60.0) -> None:  # noqa: F811
    until(lambda: len(kept(house, board)) >= count, f"{count} records", timeout)
    assert kept(house, board) == list(range(1, count + 1))


class Stream(threading.Thread):
    """A program on the board that writes without waiting for answers."""

    def __init__(self, board, count: int):
        super().__init__(daemon=True)
        self.board, self.count, self.sent = board, count, 0
        self.app = board.app("stream")

    def run(self) -> None:
        for number in range(self.count):
            self.app.write_silently("Reading", b'{"celsius":%d}' % number, wait=False)
            self.sent += 1
            if number % 50 == 49:
                # A broker drops beyond its queue; the agent answers this one when all is stored.
                self.app.get("queue")


def test_each_record_is_kept_once(house):  # noqa: F811
    board = house.live("kept")
    for number in range(20):
        assert board.write(b'{"celsius":%d}' % number)["seq"] == number + 1
    wait_kept(house, board, 20)


def test_a_release_deletes_the_records_unless_the_owner_keeps_them(house):  # noqa: F811
    gone, stays = house.live("gone"), house.live("stays")
    for board in (gone, stays):
        for _ in range(5):
            board.write()
        wait_kept(house, board, 5)
    words = house.admin.cli("boards", "release", gone.iid)
    assert words.returncode == 0 and "--keep-data" in words.stderr
    assert kept(house, gone) == []
    house.admin.must("boards", "release", stays.iid, "--keep-data")
    assert kept(house, stays) == [1, 2, 3, 4, 5]


def test_kept_data_of_a_former_board_is_its_former_owners_alone(house):  # noqa: F811
    fay, gil = house.user("fay", "--claim"), house.user("gil", "--claim")
    board = house.live("handed on", owner=fay)
    for _ in range(3):
        assert "seq" in board.write()
    wait_kept(house, board, 3)
    fay.must("boards", "release", board.iid, "--keep-data")
    listed, = json.loads(fay.must("boards", "former", "--json"))
    assert (listed["installationId"], listed["name"]) == (board.iid, board.name)
    assert listed["firstRecord"] <= listed["lastRecord"]
    lines = fay.must("export", "--board", board.name, "--format", "jsonl").splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3]
    path = f"/postern/v1/former-boards/{board.iid}"
    status, newest = fay.http("GET", f"{path}/newest")
    assert status == 200 and [v["field"] for v in newest["results"]] == ["celsius"]
    span = "class=Reading&field=celsius&since=1&until=9000000000000"
    for other in (gil, house.admin):
        assert board.iid not in other.must("boards", "former", "--json")
        assert other.http("GET", path)[0] == 404
        assert other.http("GET", f"{path}/newest")[1]["results"] == []
        assert other.http("GET", f"{path}/series?{span}")[1]["mean"] == []
        assert other.cli("boards", "delete-data", board.iid).returncode == 1
    assert kept(house, board) == [1, 2, 3]
    fay.must("boards", "delete-data", board.name)
    assert kept(house, board) == []
    assert json.loads(fay.must("boards", "former", "--json")) == []
    assert fay.cli("boards", "delete-data", board.iid).returncode == 1
    assert [e["event"] for e in house.audit(board)].count("data.deleted") == 1


def test_nothing_is_kept_if_the_configuration_says_so(tmp_path, evidence, programs):
    house = House(tmp_path, evidence, programs, '[data]\nkeep = "0"\n')  # noqa: F811
    try:
        board = house.live("unkept")
        assert "seq" in board.write()
        assert not (house.folder / "state" / "data.db").exists()
    finally:
        house.close()


@pytest.mark.slow
def test_a_killed_authority_loses_none_and_repeats_none(house):  # noqa: F811
    """With it goes its broker, and the board sends again what had no acknowledgement."""
    board = house.live("killed")
    stream = Stream(board, 4000)
    stream.start()
    for part in (600, 1400, 2200, 3000):
        until(lambda: len(kept(house, board)) > part or not stream.is_alive(), "the stream", 60)
        house.server.kill()
        house.start()
    stream.join(120)
    assert not stream.is_alive()
    wait_kept(house, board, 4000, 120)


@pytest.mark.slow
def test_a_broker_keeps_what_a_killed_authority_had_not_stored(tmp_path, evidence, programs):
    house = OpenHouse(tmp_path, evidence, programs)  # noqa: F811
    house.foreign.settings += (
        "persistence true", f"persistence_location {tmp_path}/foreign/",
        "max_inflight_messages 2048")
    house.foreign.stop()
    house.foreign.start()
    try:
        board = house.add_board("killed")
        url = board.pair()
        board.start()
        house.admin.claim(url).must_end()
        board.wait_session("available")
        stream = Stream(board, 4000)
        stream.start()
        for part in (600, 1400, 2200):
            until(lambda: len(kept(house, board)) > part or not stream.is_alive(), "data", 60)
            house.server.kill()
            # The board goes on, and its records wait in the broker's queue.
            time.sleep(0.3)
            house.start()
        house.server.kill()
        before = stream.sent
        until(lambda: stream.sent > before + 300 or not stream.is_alive(), "records", 60)
        # A restart of the broker itself: it saves its queue.
        house.foreign.stop()
        house.foreign.start()
        house.start()
        stream.join(120)
        assert not stream.is_alive()
        wait_kept(house, board, 4000, 120)
    finally:
        house.close()


def beats(board, count: int) -> list[float]:
    spans = []
    for _ in range(count):
        begun = time.monotonic()
        board.beat()
        spans.append(time.monotonic() - begun)
        # A board may send 20 requests a second.
        time.sleep(0.06)
    return spans


@pytest.mark.slow
def test_heartbeats_keep_their_pace_beside_a_flood_of_data(house, measure):  # noqa: F811
    calm, loud = house.live_board("calm"), house.live_board("loud")
    alone = beats(calm, 100)
    ends = threading.Event()

    def flood() -> None:
        number = 0
        while not ends.is_set():
            number += 1
            loud.link.publish(
                topics.data(loud.iid, "Reading", "create"), b'{"celsius":20.5}',
                user={"sid": loud.held.session["objectId"], "seq": str(number),
                      "ts": str(int(time.time() * 1000)), "app": "thermo"},
                wait=number % 500 == 0)

    thread = threading.Thread(target=flood, daemon=True)
    thread.start()
    until(lambda: len(kept(house, loud)) > 1000, "the flood", 120)
    before, begun = len(kept(house, loud)), time.monotonic()
    beside = beats(calm, 100)
    rate = (len(kept(house, loud)) - before) / (time.monotonic() - begun)
    ends.set()
    thread.join(30)
    measure.tell("records stored a second beside the heartbeats", round(rate))
    for name, spans in (("alone", alone), ("beside the flood", beside)):
        measure.milliseconds(f"a heartbeat {name}, p50", statistics.median(spans))
        measure.milliseconds(f"a heartbeat {name}, p99", sorted(spans)[-2])
    assert rate > 0, "the flood was kept from the store while the board asked"
