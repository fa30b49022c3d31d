"""Records a second from a board's PUBLISH, through mosquitto, into the authority's store.

An authority with its embedded broker and SQLite, one claimed board. The packets are made before,
so the load costs little. Figures: the rate while both run, and the rate at which a queue drains.
"""

import argparse
import json
import os
import socket
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "Interop"))

from bench.authority_bench import AuthorityBench  # noqa: E402
from bench.evidence import Evidence  # noqa: E402
from bench.waiting import until  # noqa: E402
from postern_contract import topics  # noqa: E402

# Below the broker's Receive Maximum.
WINDOW = 1000


def varint(number: int) -> bytes:
    """Source: MQTT 5 §1.5.5."""
    out = bytearray()
    while True:
        number, low = divmod(number, 128)
        out.append(low | (128 if number else 0))
        if not number:
            return bytes(out)


def text(value: str) -> bytes:
    return len(value).to_bytes(2, "big") + value.encode()


def packet(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + varint(len(body)) + body


def publish(board, session: str, number: int, size: int) -> bytes:
    user = {"sid": session, "seq": str(number), "ts": str(int(time.time() * 1000)), "app": "thermo"}
    properties = b"".join(b"\x26" + text(k) + text(v) for k, v in user.items())
    payload = b'{"celsius":%d.5,"pad":"' % (number % 40)
    payload += b"x" * (size - len(payload) - 2) + b'"}'
    body = text(topics.data(board.iid, "Reading", "create"))
    body += (number % WINDOW + 1).to_bytes(2, "big") + varint(len(properties)) + properties
    return packet(0x32, body + payload)


class Load:
    """A raw MQTT 5 connection of a board: as many packets as the window allows."""

    def __init__(self, board):
        login = board.login(board.broker_password)
        board.disconnect()
        self.socket = socket.create_connection(("127.0.0.1", login.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body = text("MQTT") + b"\x05\xc2\x00\x00\x00" + text(login.client_id)
        self.socket.sendall(packet(0x10, body + text(login.username) + text(login.password)))
        answer = self.socket.recv(4096)
        assert answer[0] == 0x20 and answer[3] == 0, answer.hex()

    def send(self, packets: list[bytes]) -> float:
        """Seconds until the broker has acknowledged all."""
        begun = time.monotonic()
        for start in range(0, len(packets), WINDOW // 2):
            part = packets[start:start + WINDOW // 2]
            self.socket.sendall(b"".join(part))
            # A PUBACK without a reason has four bytes.
            left = 4 * len(part)
            while left > 0:
                got = self.socket.recv(min(left, 1 << 16))
                assert got, "the broker closed the connection"
                left -= len(got)
        return time.monotonic() - begun


def kept(folder: Path) -> int:
    database = sqlite3.connect(f"file:{folder}/state/data.db?mode=ro", uri=True, timeout=30)
    try:
        return database.execute("SELECT number FROM totals WHERE name = 'records'").fetchone()[0]
    finally:
        database.close()


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(folder: Path, programs: Path, count: int, size: int) -> dict:
    house = AuthorityBench(folder, Evidence(), programs)
    try:
        board = house.live_board("loud")
        session = board.held.session["objectId"]
        packets = [publish(board, session, n, size) for n in range(1, count + 1)]
        load = Load(board)
        used, begun = cpu(house.server.pid), time.monotonic()
        sending = load.send(packets)
        until(lambda: kept(folder) >= count, "all records", 300)
        storing = time.monotonic() - begun
        used = cpu(house.server.pid) - used
        assert kept(folder) == count
        size_on_disk = sum(f.stat().st_size for f in (folder / "state").glob("data.db*"))
        return {
            "records": count, "payload_bytes": size,
            "published_per_second": round(count / sending),
            "stored_per_second": round(count / storing),
            "authority_cpu_us_per_record": round(used / count * 1e6, 1),
            "disk_bytes_per_record": round(size_on_disk / count),
        }
    finally:
        house.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--size", type=int, default=64, help="bytes of a payload")
    arguments = parser.parse_args()
    count = 20_000 if arguments.short else 150_000
    with tempfile.TemporaryDirectory() as folder:
        result = run(Path(folder), arguments.programs.resolve(), count, arguments.size)
    print(json.dumps(result))


main()
