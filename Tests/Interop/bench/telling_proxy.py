"""A way to a broker that tells a client by DISCONNECT 0x8E that another has taken its place.

MQTT 5 §3.1.4-3 asks that of a broker; mosquitto 2.0.11 only closes the connection.
"""

import contextlib
import socket
import threading


class TellingProxy:
    def __init__(self, broker: int):
        self._broker = broker
        self._clients: dict[bytes, socket.socket] = {}
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.told = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        with self._lock:
            for client in self._clients.values():
                _shut(client)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, IndexError):
            first = client.recv(65536)
            name = _client_id(first)
            with self._lock:
                old = self._clients.get(name)
                self._clients[name] = client
            if old is not None:
                with contextlib.suppress(OSError):
                    old.sendall(b"\xe0\x02\x8e\x00")
                    self.told += 1
                _shut(old)
            broker = socket.create_connection(("127.0.0.1", self._broker))
            broker.sendall(first)
            threading.Thread(target=_pump, args=(broker, client), daemon=True).start()
            _pump(client, broker)
            with self._lock:
                if self._clients.get(name) is client:
                    del self._clients[name]


def _client_id(connect: bytes) -> bytes:
    """Of a whole CONNECT of MQTT 5. Source: MQTT 5 §3.1."""
    at = 1
    while connect[at] & 0x80:
        at += 1
    at += 1 + 6 + 1 + 1 + 2
    at += 1 + connect[at]
    length = connect[at] << 8 | connect[at + 1]
    return connect[at + 2:at + 2 + length]


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    _shut(target)
    _shut(source)


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_WR)
