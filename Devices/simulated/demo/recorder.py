"""A TCP relay before a broker, which writes down every MQTT packet that passes in either way.

Programs that go through it need no knowledge of it, and it needs no right on the broker: it sees
what a wire tap between them would see, from the first packet on.
"""

import base64
import json
import os
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from packets import CONNECT, PUBLISH, Connect, Framer, Malformed, Publish
from packets import parse_connect, parse_publish
from programs import free_port


@dataclass
class Heard:
    """One packet. `publish` is set for a message; `raw` has everything but a login's password."""

    at: float
    client: str
    upward: bool
    raw: bytes
    publish: Publish | None


class Direct:
    """A broker's port, where nothing is recorded."""

    def __init__(self, port: int):
        self.port = self.target = port


class Recorder:
    """Listens on a free loopback port and passes all to the broker, while it is `open`."""

    def __init__(self, name: str, target: int, capture: Path):
        self.name = name
        self.target = target
        self.heard: list[Heard] = []
        # Passwords of logins, and whose each was.
        self.passwords: dict[bytes, str] = {}
        self.unreadable: list[str] = []
        self._capture = os.fdopen(
            os.open(capture, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), "a")
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self.port = free_port()
        self.open()

    def open(self) -> None:
        """Lets programs through from now on."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        """Ends every connection and refuses new ones, as a broken network would."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self._lock:
            ended = list(self._sockets)
        for one in ended:
            _end(one)

    def messages(self, since: int = 0) -> list[tuple[Heard, Publish]]:
        """The messages from the `since`-th packet on, in the order in which they passed."""
        return [(h, h.publish) for h in self.heard[since:] if h.publish is not None]

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                client.close()
                continue
            broker.settimeout(None)
            for one in (client, broker):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._sockets |= {client, broker}
            # `cut` may have come between the accept and this line.
            if self._listener is not listener:
                _end(client)
                _end(broker)
            conversation = _Conversation(self)
            for source, sink, upward in ((client, broker, True), (broker, client, False)):
                threading.Thread(
                    target=self._pump, args=(conversation, source, sink, upward), daemon=True
                ).start()

    def _pump(
        self, conversation: "_Conversation", source: socket.socket, sink: socket.socket,
        upward: bool,
    ) -> None:
        try:
            while data := source.recv(65536):
                # Written down first: what anyone can have seen is then on record.
                conversation.listen(data, upward)
                sink.sendall(data)
        except OSError:
            pass
        finally:
            with self._lock:
                self._sockets -= {source}
            _end(sink)
            source.close()

    def note(self, heard: Heard) -> None:
        line = {"at": round(heard.at, 4), "broker": self.name, "client": heard.client,
                "to": "broker" if heard.upward else "client", "bytes": len(heard.raw)}
        if heard.publish:
            line |= {"topic": heard.publish.topic, "user": heard.publish.user,
                     "payload": _readable(heard.publish.payload)}
        with self._lock:
            self.heard.append(heard)
            self._capture.write(json.dumps(line) + "\n")
            self._capture.flush()


class _Conversation:
    """The state of one connection, for both of its directions."""

    def __init__(self, recorder: Recorder):
        self._recorder = recorder
        self._framers = {True: Framer(), False: Framer()}
        self._aliases: dict[bool, dict[int, str]] = {True: {}, False: {}}
        self._who: Connect | None = None
        self._broken = False

    def listen(self, data: bytes, upward: bool) -> None:
        if self._broken:
            return
        try:
            for first, body in self._framers[upward].feed(data):
                self._packet(first, body, upward)
        except Malformed as fault:
            self._broken = True
            self._recorder.unreadable.append(f"{self._client}: {fault}")

    @property
    def _client(self) -> str:
        return self._who.client_id if self._who else "?"

    def _packet(self, first: int, body: bytes, upward: bool) -> None:
        publish, raw = None, body
        if first >> 4 == CONNECT and upward:
            self._who = parse_connect(body)
            raw = self._who.public
            if self._who.password:
                self._recorder.passwords.setdefault(self._who.password, self._client)
        elif first >> 4 == PUBLISH:
            publish = parse_publish(first, body, self._who.version if self._who else 5)
            self._resolve(publish, self._aliases[upward])
        self._recorder.note(Heard(time.monotonic(), self._client, upward, raw, publish))

    @staticmethod
    def _resolve(publish: Publish, aliases: dict[int, str]) -> None:
        if publish.alias is None:
            return
        if publish.topic:
            aliases[publish.alias] = publish.topic
        publish.topic = aliases.get(publish.alias, "")


def _end(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def _readable(payload: bytes) -> str:
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(payload).decode()
