"""A program that reads boards' data from the upstream broker."""

from __future__ import annotations

import json
import logging
import os
import stat
import threading
import time
from collections import deque
from types import TracebackType
from typing import (
    Any, Callable, Deque, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type)

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.subscribeoptions import SubscribeOptions

from ._broker import Address
from ._check import PATIENCE, Check, Finding, Summary
from ._errors import LoginEnded
from ._link import Properties
from ._record import Record, Topics

_log = logging.getLogger("postern")
#: The broker sends so many messages before the first is acknowledged.
_IN_FLIGHT = 20
#: Larger messages are none of Postern's.
_LARGEST = 1 << 20
#: Reasons of a CONNACK that concern the login: client id, user name, rights.
_REFUSED = (0x85, 0x86, 0x87, 0x8A, 0x8C)


class Consumer:
    """Reads what `postern consumers add` lets it read: `Consumer.load(path)` takes the output of
    that command with `--json`.

    >>> with postern.Consumer.load("hall.json") as consumer:
    ...     for record in consumer:
    ...         print(record.iid, record.seq, record.class_name, record.json())

    A record comes once, whatever the broker repeats: the key is board and `seq`. `on_finding` is
    called with each `Finding`, such as missing numbers. The broker keeps what comes while the
    program is away, for `keep` seconds. A login of a consumer cannot be renewed: `LoginEnded` is
    raised when the broker has refused it for `patience` seconds, or at once if it never let it in.

    One thread reads, and runs the connection while it waits. `close` may come from any thread.
    """

    def __init__(
        self, uri: str, client_id: str, username: str, password: str, topics: Sequence[str], *,
        ca: Optional[str] = None, fingerprint: Optional[str] = None, until: Optional[float] = None,
        keep: int = 3600, patience: float = 60.0, insecure: bool = False,
        on_finding: Optional[Callable[[Finding], None]] = None,
    ):
        """`ca` is text in PEM; without it the system's authorities are trusted. `fingerprint` is
        that of the first certificate in `ca`. `until` is when the login ends, in seconds since the
        epoch. `insecure` allows `mqtt://` to another machine. Raises ValueError."""
        self._address = Address(uri, insecure)
        self._topics = Topics(topics)
        # Announcements first, so that what is announced is never reported as missing.
        self._filters = sorted(topics, key=lambda topic: not topic.endswith("/status"))
        self._until, self._keep, self._patience = until, keep, patience
        self._on_finding = on_finding
        self._check = Check()
        self._found: List[Finding] = []
        self._ready: "Deque[Tuple[Record, paho.MQTTMessage]]" = deque()
        self._handled: Optional[paho.MQTTMessage] = None
        self._is_up = self._was_up = False
        self._refused_since: Optional[float] = None
        self._failure: Optional[LoginEnded] = None
        self._pause, self._next_try, self._next_look = 1.0, 0.0, 0.0
        self._closing = threading.Event()
        self._client = self._make_client(client_id)
        self._client.username_pw_set(username, password)
        context = self._address.context(ca, fingerprint)
        if context is not None:
            self._client.tls_set_context(context)

    @classmethod
    def load(cls, path: "str | os.PathLike[str]", **options: Any) -> "Consumer":
        """From a file with the output of `postern consumers add NAME --json`. Raises
        PermissionError if every user can read it."""
        with open(path, encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_mode & stat.S_IROTH:
                raise PermissionError(f"every user can read {path}: chmod o-rwx it")
            made: Mapping[str, Any] = json.load(file)
        given = {name: made.get(name) for name in ("ca", "fingerprint", "until")}
        return cls(made["uri"], made["clientId"], made["username"], made["password"],
                   made["topics"], **{**given, **options})

    # What callers do.

    def read(self, timeout: Optional[float] = None) -> Optional[Record]:
        """The next record. None after `timeout` seconds, or after `close`.

        With paho-mqtt 2, the broker hears that a record is handled when the next is asked for. So a
        program that is killed while it handles a record receives it again.
        """
        self._acknowledge()
        end = None if timeout is None else time.monotonic() + timeout
        while not self._closing.is_set():
            if self._ready:
                record, self._handled = self._ready.popleft()
                return record
            now = time.monotonic()
            left = 1.0 if end is None else min(end - now, 1.0)
            if left <= 0:
                return None
            self._turn(left)
            if now >= self._next_look:
                self._next_look = now + 1
                self._found += self._check.find_missing(time.monotonic() - PATIENCE)
            self._report()
        return None

    def __iter__(self) -> Iterator[Record]:
        while True:
            record = self.read()
            if record is None:
                return
            yield record

    @property
    def boards(self) -> Dict[str, Summary]:
        """What came, by board, since this program began."""
        return self._check.summaries

    def close(self) -> None:
        """Ends the connection, and the reading."""
        self._closing.set()
        self._client.disconnect()

    def __enter__(self) -> "Consumer":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if kind is None:
            self._acknowledge()
        self.close()

    # The connection.

    def _make_client(self, client_id: str) -> paho.Client:
        version = getattr(paho, "CallbackAPIVersion", None)
        first = [version.VERSION2] if version else []
        make: Any = paho.Client
        client: paho.Client = make(*first, client_id=client_id, protocol=paho.MQTTv5)
        # paho-mqtt 1.6 acknowledges by itself.
        if hasattr(client, "manual_ack_set"):
            client.manual_ack_set(True)
        client.on_connect = self._connected
        client.on_disconnect = self._disconnected
        client.on_subscribe = self._subscribed
        client.on_message = self._received
        return client

    def _turn(self, seconds: float) -> None:
        """Waits for something to happen, for so long at most."""
        if not self._is_up:
            left = self._next_try - time.monotonic()
            if left > 0:
                self._closing.wait(min(left, seconds))
                return
            self._connect()
        if self._is_up:
            try:
                is_well = self._client.loop(seconds) == paho.MQTT_ERR_SUCCESS
                problem = "the connection ended"
            except Exception as error:
                # paho-mqtt raises many kinds for packets that are malformed.
                is_well, problem = False, f"the connection failed: {error}"
            if not is_well:
                self._down(problem)
        if self._failure is not None:
            raise self._failure

    def _connect(self) -> None:
        asked = Properties(PacketTypes.CONNECT)
        asked.SessionExpiryInterval = self._keep
        asked.ReceiveMaximum = _IN_FLIGHT
        asked.MaximumPacketSize = _LARGEST
        try:
            self._client.connect(
                self._address.host, self._address.port, keepalive=60,
                clean_start=self._keep == 0, properties=asked)
        except self._address.untrusted:
            raise
        except OSError as error:
            self._down(str(error))
            return
        self._is_up = True

    def _down(self, problem: str) -> None:
        """Another try after a pause, which is longer each time."""
        self._is_up = False
        # Their numbers of packets were of this connection; the broker sends them again.
        self._handled = None
        self._next_try = time.monotonic() + self._pause
        if self._pause == 1.0:
            _log.warning("%s: %s; trying again", self._address, problem)
        self._pause = min(2 * self._pause, 30.0)

    def _refused(self, problem: str) -> None:
        now = time.monotonic()
        since = self._refused_since = self._refused_since or now
        has_ended = self._until is not None and time.time() >= self._until
        if has_ended or not self._was_up or now - since >= self._patience:
            end = ": its time is over" if has_ended else ""
            self._failure = LoginEnded(f"{self._address} refuses this login ({problem}){end}")
        self._client.disconnect()

    # What paho calls while the connection is run.

    def _connected(self, client: Any, _own: Any, _flags: Any, reason: Any, *_more: Any) -> None:
        code = getattr(reason, "value", reason)
        if code in _REFUSED:
            self._refused(str(reason))
        elif code == 0:
            options: Any = SubscribeOptions
            client.subscribe([(topic, options(qos=1)) for topic in self._filters])

    def _subscribed(self, _client: Any, _own: Any, _mid: Any, codes: Any, *_more: Any) -> None:
        refused = [topic for topic, code in zip(self._filters, codes)
                   if getattr(code, "value", code) >= 0x80]
        if len(refused) == len(self._filters):
            self._refused("it may read none of its topics")
            return
        for topic in refused:
            _log.warning("%s: it may not read %s any more", self._address, topic)
        self._was_up, self._refused_since, self._pause = True, None, 1.0

    def _disconnected(self, *_arguments: Any) -> None:
        # Unread records stay, the broker repeats them, and the check drops the repetition.
        self._handled = None
        self._ready = deque((record, _NOTHING) for record, _ in self._ready)

    def _received(self, client: Any, _own: Any, message: paho.MQTTMessage) -> None:
        try:
            record = self._judge(message.topic, bytes(message.payload), message)
        except UnicodeDecodeError:
            record = None
        if record is None:
            self._acknowledge(message)
        else:
            self._ready.append((record, message))

    def _judge(
        self, topic: str, payload: bytes, message: paho.MQTTMessage,
    ) -> Optional[Record]:
        """None for all that is no record, or came before."""
        now = time.monotonic()
        announced = self._topics.gaps(topic, payload)
        if announced is not None:
            board = self._check.board(announced[0])
            if board is not None:
                board.announce(announced[1])
            return None
        # Boards never retain data.
        if message.retain:
            return None
        given = dict(reversed(getattr(message.properties, "UserProperty", None) or []))
        found = self._topics.record(topic, payload, given)
        if found is None:
            return None
        iid, record = found
        board = self._check.board(iid)
        if board is None:
            return record
        if record is None:
            self._found += board.note("malformed")
            return None
        if record.seq is None:
            self._found += board.note("unmarked")
            return record
        digest = hash((record.sid, topic, payload))
        is_new, findings = board.take(record.seq, digest, now)
        self._found += findings
        return record if is_new else None

    def _acknowledge(self, message: Optional[paho.MQTTMessage] = None) -> None:
        if message is None:
            message, self._handled = self._handled, None
        if message is not None and message.qos > 0 and hasattr(self._client, "ack"):
            self._client.ack(message.mid, message.qos)

    def _report(self) -> None:
        found, self._found = self._found, []
        if self._on_finding is not None:
            for finding in found:
                self._on_finding(finding)


_NOTHING = paho.MQTTMessage()
