"""A TCP proxy between the board and its upstream broker, which does what the weather says."""

import random
import select
import socket
import struct
import threading
import time
from collections import Counter

import frames
from bench.program import free_port
from weather import Clear, Cut, Passing


class Proxy:
    """Listens on a port of its own; `change` sets the weather, `sequences refused` it keeps."""

    def __init__(self, target: int, seed: int):
        self.target = target
        self.port = free_port()
        self.draw = random.Random(seed)
        self.weather: Clear = Clear(self.draw)
        self.changed = threading.Condition()
        self.tally: Counter = Counter()
        # What the broker said no to: its first arrival may be late.
        self.refused: set[int] = set()
        self.is_closed = False
        self._tunnels: set[Tunnel] = set()
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()

    def change(self, kind: type[Clear]) -> None:
        """New weather; connections that were half-open until now are reset."""
        with self.changed:
            old, self.weather = self.weather, kind(self.draw)
            self.changed.notify_all()
        if kind is not Clear:
            self.tally["weather"] += 1
            self.tally[kind.name] += 1
        for tunnel in list(self._tunnels):
            if not self.weather.lets_in or (tunnel.is_dead and old.name != kind.name):
                tunnel.is_doomed = True

    def close(self) -> None:
        self.is_closed = True
        self.change(Clear)
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for tunnel in list(self._tunnels):
            tunnel.is_doomed = True
        for tunnel in list(self._tunnels):
            tunnel.thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.tally["connections"] += 1
            try:
                if not self.weather.lets_in:
                    raise ConnectionRefusedError
                far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                _end(near, is_reset=True)
                continue
            tunnel = Tunnel(self, near, far)
            self._tunnels.add(tunnel)
            tunnel.thread.start()

    def forget(self, tunnel: "Tunnel") -> None:
        self._tunnels.discard(tunnel)


class Tunnel:
    """One connection of the board and its other half, both in one thread."""

    def __init__(self, proxy: Proxy, near: socket.socket, far: socket.socket):
        self.proxy, self.near, self.far = proxy, near, far
        self.is_dead = False
        self.is_doomed = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self._buffers = {near: bytearray(), far: bytearray()}
        self._sequences: dict[int, int] = {}
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.settimeout(20)

    def wait_change(self, weather: Clear) -> None:
        """Returns once there is other weather than this."""
        with self.proxy.changed:
            self.proxy.changed.wait_for(lambda: self.proxy.weather is not weather, 120)

    def refuse(self, packet: frames.Packet, code: int) -> None:
        """Answers a PUBLISH in the broker's place; the broker never sees it."""
        self._book(frames.Packet(frames.puback(packet.packet_id, code), 2))
        self.near.sendall(frames.puback(packet.packet_id, code))

    def _run(self) -> None:
        is_reset = True
        try:
            self._pass()
        except Cut as cut:
            self.proxy.tally["connections cut"] += 1
            is_reset = cut.is_reset
            _send_last(self.near, cut.last)
        except OSError:
            pass
        finally:
            # What was passed on is the broker's; what it says to it is lost.
            _end(self.near, is_reset)
            _end(self.far, is_reset=False)
            self.proxy.forget(self)

    def _pass(self) -> None:
        while not self.is_doomed:
            # A few tunnels at most, so a look every 50 ms for what was decided elsewhere.
            readable, _, _ = select.select([self.near, self.far], [], [], 0.05)
            for source in readable:
                sink = self.far if source is self.near else self.near
                data = source.recv(65536)
                if self.is_dead:
                    if not data and source is self.near:
                        return
                    time.sleep(0.01)
                    continue
                if not data:
                    return self._drain(sink, source)
                self._carry(source, sink, data)
        raise Cut()

    def _drain(self, sink: socket.socket, source: socket.socket) -> None:
        """An end that closed has said all; half a packet goes on with it."""
        sink.sendall(bytes(self._buffers[source]))

    def _carry(self, source: socket.socket, sink: socket.socket, data: bytes) -> None:
        buffer, out = self._buffers[source], bytearray()
        buffer += data
        weather = self.proxy.weather
        for packet in frames.take(buffer):
            self._book(packet)
            try:
                out += weather.passed(Passing(packet, source is self.near, self))
            except Cut:
                _send(sink, out, weather.piece)
                raise
        _send(sink, out, weather.piece)

    def _book(self, packet: frames.Packet) -> None:
        if packet.is_data:
            seq = packet.seq
            if seq is not None:
                self._sequences[packet.packet_id] = seq
        elif packet.type == frames.PUBACK:
            seq = self._sequences.pop(packet.packet_id, None)
            if seq is not None and packet.code >= 0x80:
                self.proxy.tally[f"PUBACK 0x{packet.code:02x}"] += 1
                self.proxy.refused.add(seq)


def _send(sink: socket.socket, data: bytearray, piece: int) -> None:
    for at in range(0, len(data), piece):
        sink.sendall(data[at:at + piece])


def _send_last(sink: socket.socket, data: bytes) -> None:
    try:
        sink.sendall(data)
    except OSError:
        pass


def _end(one: socket.socket, is_reset: bool) -> None:
    if is_reset:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()
