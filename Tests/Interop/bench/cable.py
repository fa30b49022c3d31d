"""The network between a program and its broker: one cable that a test can pull."""

import contextlib
import queue
import socket
import threading
import time

from .program import free_port


class Cable:
    """Listens on a port of its own and passes bytes both ways while it is plugged in."""

    def __init__(self, target: int):
        self.target = target
        self.port = free_port()
        self._listener: socket.socket | None = None
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._passed = 0
        self._last: int | None = None
        # A piece from the broker with these bytes in it is lost.
        self.loses: bytes | None = None
        self.lost = 0
        # Seconds that a piece takes in each direction, on connections made from now on.
        self.delay = 0.0
        self._moved = threading.Condition()
        self._kept = bytearray()
        self.plug()

    @property
    def is_plugged(self) -> bool:
        return self._listener is not None

    def plug(self) -> None:
        """Lets connections through from now on."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(16)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def pull(self) -> None:
        """Ends every connection and refuses new ones."""
        listener, self._listener = self._listener, None
        if listener is not None:
            _end(listener)
            listener.close()
        with self._lock:
            ends = list(self._ends)
        for end in ends:
            _end(end)

    @property
    def passed(self) -> int:
        """How many pieces went through, in both directions together."""
        return self._passed

    def heard(self) -> bytes:
        """What went through, both ways, as somebody on the way has it; the first 16 MiB."""
        with self._moved:
            return bytes(self._kept)

    def lose_after(self, count: int | None) -> None:
        """Lets nothing through after the `count`-th piece; all of it again with None."""
        self._last = count

    def wait_passed(self, count: int, timeout: float) -> bool:
        """Whether so many pieces have gone through within the time."""
        with self._moved:
            return self._moved.wait_for(lambda: self._passed >= count, timeout)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._lock:
                self._ends |= {near, far}
            # `pull` may have come between the accept and this line.
            if self._listener is not listener:
                _end(near)
                _end(far)
            for source, sink in ((near, far), (far, near)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(
                    target=self._pass, args=(source, sink, source is far), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, is_back: bool) -> None:
        delay, waiting = self.delay, queue.SimpleQueue()
        if delay:
            threading.Thread(target=_deliver, args=(waiting, sink), daemon=True).start()
        try:
            while data := source.recv(65536):
                if self._last is not None and self._passed >= self._last:
                    continue
                if is_back and self.loses is not None and self.loses in data:
                    self.lost += 1
                    continue
                if delay:
                    waiting.put((time.monotonic() + delay, data))
                else:
                    sink.sendall(data)
                with self._moved:
                    self._passed += 1
                    if len(self._kept) < 1 << 24:
                        self._kept += data
                    self._moved.notify_all()
        except OSError:
            pass
        finally:
            with self._lock:
                self._ends -= {source}
            waiting.put(None)
            _end(sink)
            source.close()


def _deliver(waiting: queue.SimpleQueue, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := waiting.get():
            due, data = piece
            time.sleep(max(0.0, due - time.monotonic()))
            sink.sendall(data)


def _end(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
