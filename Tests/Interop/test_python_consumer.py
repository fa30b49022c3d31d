"""`postern.Consumer`: the real authority and board, and its check of numbers by value."""

import json
import os
import time

import postern
import pytest
from postern._check import Board
from postern._record import Topics

from bench.tls_house import TLSHouse
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, house_settings  # noqa: F401, fixtures

IID = "3f1f7c0e-2b7a-4d4e-9c55-0123456789ab"
MARK = {"sid": "OKBCVLtX7h", "seq": "7", "ts": "1795569333222", "app": "thermo"}


def add(house, name: str, *more: str) -> dict:
    made = house.cli_json("consumers", "add", name, *more)
    house.evidence.add_secret(f"the password of the consumer {name}", made["password"])
    house.evidence.texts.pop()
    return made


def file_of(made: dict, folder):
    path = folder / "consumer.json"
    path.write_text(json.dumps(made))
    path.chmod(0o600)
    return path


def read(consumer: postern.Consumer, count: int) -> list[postern.Record]:
    found, end = [], time.monotonic() + 60
    while len(found) < count and time.monotonic() < end:
        record = consumer.read(1)
        found += [] if record is None else [record]
    assert len(found) == count, found
    return found


def connect(consumer: postern.Consumer) -> None:
    """Reads until the broker has taken its subscriptions. Another board may be heard."""
    end = time.monotonic() + 60
    while not consumer._was_up and time.monotonic() < end:
        consumer.read(0.1)
    assert consumer._was_up


def test_it_reads_what_an_app_wrote(house, tmp_path):
    board = house.live("read")
    made = add(house, "reader", "--boards", "read", "--classes", "Reading")
    with postern.Consumer.load(file_of(made, tmp_path)) as consumer:
        connect(consumer)
        first = board.write(b'{"celsius":21.5}')["seq"]
        board.thermo.write("Reading", b"{}", op="update", object_id="r1")
        created, updated = read(consumer, 2)
        assert (created.iid, created.class_name, created.op) == (board.iid, "Reading", "create")
        assert (created.seq, created.app, created.sid) == (first, "thermo", board.session_id)
        assert created.json() == {"celsius": 21.5} and created.object_id is None
        assert abs(created.ts.timestamp() - time.time()) < 120
        assert (updated.op, updated.object_id, updated.seq) == ("update", "r1", first + 1)
        summary = consumer.boards[board.iid]
        assert summary.is_complete and summary.numbers == (first, first + 1)


def test_it_misses_nothing_over_a_restart_of_itself_and_of_the_broker(house, tmp_path):
    board = house.live("lasting")
    path = file_of(add(house, "lasting", "--boards", "lasting"), tmp_path)
    with postern.Consumer.load(path) as consumer:
        connect(consumer)
    board.write(b'{"n":0}')
    findings = []
    with postern.Consumer.load(path, on_finding=findings.append) as consumer:
        assert [r.json()["n"] for r in read(consumer, 1)] == [0]
        house.server.stop()
        house.start()
        for n in range(1, 6):
            board.write(b'{"n":%d}' % n)
        assert [r.json()["n"] for r in read(consumer, 5)] == [1, 2, 3, 4, 5]
        assert consumer.boards[board.iid].is_complete
    assert not [f for f in findings if f.kind != "repeat"]


def test_a_removed_login_raises_by_name(house, tmp_path):
    made = add(house, "removed")
    with postern.Consumer.load(file_of(made, tmp_path), patience=2) as consumer:
        connect(consumer)
        house.must(house._cli("consumers", "remove", "removed"))
        with pytest.raises(postern.LoginEnded):
            read(consumer, 1)
    with postern.Consumer.load(file_of(made, tmp_path)) as consumer:
        with pytest.raises(postern.LoginEnded):
            consumer.read(60)


def test_a_login_whose_time_is_over_says_so(house, tmp_path):
    made = add(house, "timed", "--until", "4s")
    with postern.Consumer.load(file_of(made, tmp_path)) as consumer:
        with pytest.raises(postern.LoginEnded, match="time is over"):
            read(consumer, 1)


def test_its_file_is_secret_and_its_login_is_not_sent_in_clear(tmp_path):
    made = {"uri": "mqtt://broker.example", "clientId": "c", "username": "u", "password": "p",
            "topics": [f"postern/v1/{IID}/data/#"]}
    path = file_of(made, tmp_path)
    with pytest.raises(ValueError, match="mqtts"):
        postern.Consumer.load(path)
    postern.Consumer.load(path, insecure=True)
    os.chmod(path, 0o644)
    with pytest.raises(PermissionError):
        postern.Consumer.load(path, insecure=True)
    with pytest.raises(ValueError, match="topics"):
        postern.Consumer("mqtt://localhost", "c", "u", "p", ["#"])


def test_over_tls_it_trusts_the_printed_ca_only(tmp_path, evidence, programs):
    house = TLSHouse(tmp_path, evidence, programs)
    try:
        assert house.login("--ca-fingerprint", house.fingerprint).returncode == 0
        made = json.loads(house.cli("consumers", "add", "hall", "--json").stdout)
        evidence.add_secret("the password of the consumer hall", made["password"])
        evidence.texts.pop()
        path = file_of(made, tmp_path)
        assert made["fingerprint"] == house.fingerprint
        with postern.Consumer.load(path) as consumer:
            connect(consumer)
        with pytest.raises(ValueError, match="do not trust"):
            postern.Consumer.load(path, fingerprint="SHA256:" + "00" * 32)
        with postern.Consumer.load(path, ca=None, fingerprint=None) as consumer:
            with pytest.raises(OSError, match="certificate"):
                consumer.read(60)
        path.unlink()
    finally:
        house.close()


# By value.

def test_a_record_is_read_from_its_topic_and_properties():
    topics = Topics([f"postern/v1/{IID}/data/#", f"postern/v1/{IID}/status"])
    iid, record = topics.record(
        f"postern/v1/{IID}/data/Reading/delete/r1/more/levels", b"{}", MARK)
    assert (iid, record.op, record.object_id, record.further) == (
        IID, "delete", "r1", "more/levels")
    assert (record.seq, record.ts.microsecond) == (7, 222_000)
    for topic in ("data/Reading/create/", "data/Reading/update", "data/a-b/create", "inbox",
                  "data/Reading/delete/r1//x"):
        assert topics.record(f"postern/v1/{IID}/{topic}", b"", MARK) is None, topic
    assert topics.record(f"other/v1/{IID}/data/Reading/create", b"", MARK) is None


@pytest.mark.parametrize("wrong", [
    {"seq": "0"}, {"seq": "07"}, {"seq": "-1"}, {"seq": "x"}, {"seq": str(1 << 62)}, {"sid": "a/b"},
    {"ts": "9" * 18}, {"ts": ""}, {"seq": "٧"}, {"seq": None}, {"sid": None}])
def test_a_malformed_mark_is_no_record(wrong):
    given = {name: text for name, text in (MARK | wrong).items() if text is not None}
    topics = Topics(["postern/v1/+/data/#"])
    assert topics.record(f"postern/v1/{IID}/data/Reading/create", b"", given) == (IID, None)


def test_a_status_announces_only_ranges():
    topics = Topics(["postern/v1/+/status"])
    for payload, wanted in [
            (b'{"gapRanges":[[2,3],[5,5]]}', ((2, 3), (5, 5))), (b"[" * 100_000, None),
            (b'{"gapRanges":[[3,2],[0,1],[true,2],["1",2],[1],7,[4,4]]}', ((4, 4),)),
            (b'{"gapRanges":3}', None), (b"", None)]:
        found = topics.gaps(f"postern/v1/{IID}/status", payload)
        assert found == (None if wanted is None else (IID, wanted)), payload


def take(board: Board, *numbers: int, now: float = 0.0, digest: int = 1) -> list[tuple]:
    """For each number whether it is new, and the kinds that were found."""
    results = [board.take(number, digest, now) for number in numbers]
    return [(is_new, [f.kind for f in found]) for is_new, found in results]


def test_a_repeat_is_dropped_and_a_contradiction_is_found():
    board = Board(IID)
    assert take(board, 10, 11, 11) == [(True, []), (True, []), (False, ["repeat"])]
    assert take(board, 11, digest=2) == [(False, ["conflict"])]
    # From before the first one seen: new once.
    assert take(board, 9, 9) == [(True, []), (False, ["repeat"])]
    assert not board.summary.is_complete


def test_a_gap_is_missing_after_five_seconds_unless_announced():
    board = Board(IID)
    take(board, 1, 5, 9)
    board.announce([(7, 8), (2, 2)])
    assert board.find_missing(-0.1) == []
    assert [f.numbers for f in board.find_missing(0)] == [(3, 4), (6, 6)]
    assert board.find_missing(0) == [] and board.summary.counts["missing"] == 3
    assert take(board, 3, 3, 2) == [
        (True, ["reordered"]), (False, ["repeat"]), (True, ["reordered"])]
    assert board.summary.counts["missing"] == 2
    board.announce([(4, 6)])
    assert "missing" not in board.summary.counts


def test_its_memory_is_bounded_and_what_it_forgot_is_read():
    board = Board(IID)
    take(board, *range(1, 10_000, 2))
    assert board.summary.is_capped and board.summary.counts["missing"] == 4999
    assert len(board._gaps) == 1024 and len(board._digests) == 256
    # Its gap is forgotten. It may be new, so it is read.
    assert take(board, 2) == [(True, [])]
    board.announce((n, n) for n in range(1, 10_000, 2))
    assert len(board._announced) == 1024


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
