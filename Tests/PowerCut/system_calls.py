"""The order of the agent's system calls, as strace saw them: write, sync, and only then PUBACK."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agent_traffic import is_write
from disk import NEVER_SYNCED
from mqtt_stream import PUBACK, PUBLISH, Packet, Stream

_CALLS = ("pwrite64,pwritev,write,writev,sendto,sendmsg,read,readv,recvfrom,recvmsg,"
          "fsync,fdatasync,ftruncate,fallocate")
_LINE = re.compile(r"(\d+) +(\w+)\((\d+)<(.*?)>(?:, (.*))?\) += (-?\d+)")
_SOCKET = re.compile(r"TCP:\[127\.0\.0\.1:\d+->127\.0\.0\.1:(\d+)\]")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_SAID = {"write", "writev", "sendto", "sendmsg"}
_HEARD = {"read", "readv", "recvfrom", "recvmsg"}
_CHANGES = {"pwrite64", "pwritev", "write", "writev", "ftruncate", "fallocate"}


def prefix(log: Path) -> list[str]:
    """Before an argv: its system calls go to `log`; signals still reach the program itself."""
    return ["strace", "-D", "-f", "-q", "-xx", "-yy", "-s", "2000000", "-e", f"trace={_CALLS}",
            "-e", "signal=none", "-o", str(log)]


@dataclass(frozen=True)
class Call:
    number: int
    name: str
    # A path, or "TCP:[…]".
    target: str
    # 0 for what is no socket.
    port: int
    data: bytes
    result: int

    def text(self, note: str = "") -> str:
        """As strace shows it, with what matters in the place of the bytes."""
        what = note or (f"{self.result} bytes" if self.result else "")
        name = f"bus port {self.port}" if self.port else Path(self.target).name
        return f"{self.name}({', '.join(part for part in (name, what) if part)}) = {self.result}"


@dataclass
class Order:
    """What the trace shows."""

    batches: int = 0
    answers: int = 0
    acknowledgements: int = 0
    broken: list[str] = field(default_factory=list)
    excerpt: list[str] = field(default_factory=list)

    @property
    def facts(self) -> dict:
        return {"batches": self.batches, "answers": self.answers,
                "acknowledgements": self.acknowledgements, "broken": len(self.broken),
                "examples": self.broken[:5], "excerpt": self.excerpt}


def calls(log: Path) -> Iterator[Call]:
    """Each call that succeeded, in the order in which they returned."""
    unfinished: dict[str, str] = {}
    for number, line in enumerate(log.read_text(errors="replace").splitlines()):
        process = line.partition(" ")[0]
        if line.endswith("<unfinished ...>"):
            unfinished[process] = line.removesuffix("<unfinished ...>")
            continue
        if " resumed>" in line:
            line = unfinished.pop(process, "") + line.partition(" resumed>")[2]
        found = _LINE.match(line)
        if found is None or found[6].startswith("-"):
            continue
        target = _plain(found[4])
        socket = _SOCKET.match(target)
        result = int(found[6])
        data = b"".join(bytes.fromhex(s.replace("\\x", ""))
                        for s in _STRING.findall(found[5] or ""))
        yield Call(number, found[2], target, int(socket[1]) if socket else 0,
                   data[:result] if socket else b"", result)


def _plain(text: str) -> str:
    return re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), text)


def check(log: Path, state: Path, bus_port: int) -> Order:
    """Looks at every answer and PUBACK on the bus."""
    return _Checker(str(state), bus_port).check(calls(log))


class _Checker:
    def __init__(self, state: str, bus_port: int):
        self._state, self._port = state + "/", bus_port
        self._streams: dict[tuple[str, bool], Stream] = {}
        # Files with a change that is not synced, and the last change and sync of any.
        self._unsynced: set[str] = set()
        self._written = self._synced = -1
        self._read: dict[tuple[str, int], int] = {}
        self._asked: dict[bytes, int] = {}
        self._batch = -1
        self._recent: list[tuple[Call, str]] = []
        self.order = Order()

    def check(self, all_calls: Iterator[Call]) -> Order:
        for call in all_calls:
            if call.port == self._port:
                self._speak_or_hear(call)
            elif call.target.startswith(self._state) and Path(call.target).name not in NEVER_SYNCED:
                self._touch(call)
        return self.order

    def _touch(self, call: Call) -> None:
        if call.name in _CHANGES:
            self._unsynced.add(call.target)
            self._written = call.number
        elif call.name in ("fsync", "fdatasync"):
            self._unsynced.discard(call.target)
            self._synced = call.number
        else:
            return
        self._recent.append((call, ""))

    def _speak_or_hear(self, call: Call) -> None:
        is_said = call.name in _SAID
        if not is_said and call.name not in _HEARD:
            return
        stream = self._streams.setdefault((call.target, is_said), Stream())
        packets = stream.feed(call.data, call.number)
        for packet in packets:
            if is_said:
                self._judge(packet, call)
            elif packet.kind == PUBLISH and is_write(packet.topic):
                self._read[call.target, packet.packet_id] = call.number
                self._asked[packet.correlation] = call.number
                # Of the first batch all is shown, from its reading on.
                if self.order.batches == 0 and not self.order.answers:
                    self._recent = []
                self._note(call, f"PUBLISH {packet.topic}, packet {packet.packet_id}")

    def _note(self, call: Call, text: str) -> None:
        if not self.order.excerpt:
            self._recent.append((call, text))

    def _judge(self, packet: Packet, call: Call) -> None:
        text = f"PUBACK, packet {packet.packet_id}"
        if packet.kind == PUBACK:
            read, what = self._read.pop((call.target, packet.packet_id), None), "a PUBACK"
            self.order.acknowledgements += read is not None
        elif packet.kind == PUBLISH and packet.correlation in self._asked:
            if "seq" not in json.loads(packet.payload):
                return
            read, what = self._asked.pop(packet.correlation), "an answer"
            self.order.answers += 1
            text = f"PUBLISH {packet.topic} {packet.payload.decode()}"
        else:
            return
        if read is None:
            return
        if self._unsynced:
            names = ", ".join(Path(name).name for name in sorted(self._unsynced))
            self.order.broken.append(f"line {call.number}: {what} left before {names} was synced")
        if not read < self._written < self._synced < call.number:
            self.order.broken.append(f"line {call.number}: {what} left without a write and a sync "
                                     f"since the message was read on line {read}")
        self._note(call, text)
        if self._synced != self._batch:
            self._batch = self._synced
            self.order.batches += 1
        if packet.kind == PUBACK and not self.order.excerpt:
            self.order.excerpt = _excerpt(self._recent)


def _excerpt(recent: list[tuple[Call, str]]) -> list[str]:
    """The calls of one batch; writes to one file that follow each other stand as one line."""
    lines: list[str] = []
    count = 0
    for n, (call, note) in enumerate(recent):
        after = recent[n + 1][0] if n + 1 < len(recent) else None
        if after and (after.name, after.target) == (call.name, call.target) and not call.port:
            count += 1
            continue
        lines.append(call.text(note) + (f"   and {count} like it before" if count else ""))
        count = 0
    return lines
