"""One recorded MQTT connection: it remembers all that it heard and waits for what it should."""

import contextlib
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties


class Refused(Exception):
    """The broker is there and said no; `code` is the reason code of its CONNACK."""

    def __init__(self, code: int):
        super().__init__(f"refused with 0x{code:02x}")
        self.code = code


@dataclass(frozen=True)
class Message:
    topic: str
    payload: bytes
    qos: int
    retain: bool
    user: dict = field(default_factory=dict)
    response_topic: str | None = None
    correlation: bytes | None = None
    expiry: int | None = None
    at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class Login:
    """Where and as whom to connect; a Unix socket, where one is given, instead of a port.

    Of `version` 3.1.1 no property is sent, and a broker that refuses a message hangs up.
    """

    port: int
    client_id: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    socket: Path | None = None
    version: str = "5"
    host: str = "127.0.0.1"

    @property
    def is_old(self) -> bool:
        return self.version == "3.1.1"


class Link:
    """Connects once; `stays` has paho reconnect and subscribe again after a lost connection."""

    def __init__(
        self, login: Login, *, subscribe: tuple[str, ...] = (), will: tuple | None = None,
        on_message: Callable[[Message], None] | None = None, journal: list | None = None,
        stays: bool = False,
    ):
        self.login = login
        self.heard: list[Message] = []
        self.journal = journal if journal is not None else []
        self.is_up = False
        self._was_up = False
        # The packet ids of the subscriptions that were made again; None before that.
        self._renewed: list[int] | None = None
        self._stays = stays
        self._filters = subscribe
        self._on_message = on_message
        self._changed = threading.Condition()
        self._connack: int | None = None
        self._acks: dict[int, list[int]] = {}
        self._client = self._make_client(will)

    def open(self, timeout: float = 60.0) -> "Link":
        """Connected and subscribed when it returns. Raises `Refused` or `OSError`."""
        host = str(self.login.socket) if self.login.socket else self.login.host
        fresh = {} if self.login.is_old else {"clean_start": True}
        self._client.connect(host, self.login.port or 1, keepalive=30, **fresh)
        self._client.loop_start()
        try:
            code = self._await(lambda: self._connack, "a CONNACK", timeout)
        except AssertionError:
            self.close()
            raise
        if code != 1:
            self.close()
            raise Refused(code)
        for topic_filter in self._filters:
            granted = self.subscribe(topic_filter)
            assert granted < 0x80, f"{topic_filter} was refused with 0x{granted:02x}"
        return self

    def _end_thread(self) -> None:
        # paho's thread forgets itself at its end, which may come between paho's two looks at it.
        with contextlib.suppress(AttributeError):
            self._client.loop_stop()

    def close(self) -> None:
        self._client.disconnect()
        self._end_thread()
        self.is_up = False

    def drop(self) -> None:
        """Cuts the connection without a DISCONNECT, so that the will goes out."""
        sock = self._client.socket()
        self._end_thread()
        if sock is not None:
            sock.close()
        self.is_up = False

    def subscribe(self, topic_filter: str) -> int:
        """The reason code of the SUBACK: below 0x80 it was granted."""
        _, mid = self._client.subscribe(topic_filter, qos=1)
        return self._await_ack(mid, f"a SUBACK for {topic_filter}")

    def publish(
        self, topic: str, payload: bytes | str | None, *, qos: int = 1, retain: bool = False,
        user: dict | None = None, response_topic: str | None = None,
        correlation: bytes | None = None, expiry: int | None = None, wait: bool = True,
    ) -> int | None:
        """The reason code of the PUBACK, unless nobody waits for it (as a callback must not)."""
        properties = Properties(PacketTypes.PUBLISH)
        if user:
            properties.UserProperty = list(user.items())
        if response_topic is not None:
            properties.ResponseTopic = response_topic
        if correlation is not None:
            properties.CorrelationData = correlation
        if expiry is not None:
            properties.MessageExpiryInterval = expiry
        raw = payload.encode() if isinstance(payload, str) else payload or b""
        self.journal.append((topic, raw))
        info = self._client.publish(
            topic, raw, qos=qos, retain=retain,
            properties=None if self.login.is_old else properties)
        if not wait or qos == 0:
            return None
        return self._await_ack(info.mid, f"a PUBACK for {topic}")

    def mark(self) -> int:
        """A place in what was heard, to wait only for what comes after it."""
        return len(self.heard)

    def since(self, mark: int, topic: str | None = None) -> list[Message]:
        return [m for m in self.heard[mark:] if topic is None or m.topic == topic]

    def wait(
        self, matches: Callable[[Message], bool], what: str, *, since: int = 0,
        timeout: float = 60.0,
    ) -> Message:
        """The first message after `since` that matches, already heard or yet to come."""
        def first():
            return next((m for m in self.heard[since:] if matches(m)), None)

        return self._await(first, what, timeout)

    def wait_topic(self, topic: str, *, since: int = 0, timeout: float = 60.0) -> Message:
        return self.wait(lambda m: m.topic == topic, topic, since=since, timeout=timeout)

    def _await(self, condition, what: str, timeout: float):
        with self._changed:
            if not self._changed.wait_for(condition, timeout):
                raise AssertionError(f"waited {timeout:g} s for {what}; {self._summary()}")
            return condition()

    def wait_back(self, timeout: float = 60.0) -> None:
        """One that stays has lost its connection, and waits until it is subscribed again."""
        self._await(lambda: self._renewed is not None and set(self._renewed) <= set(self._acks),
                    "the subscriptions to be made again", timeout)

    def _await_ack(self, mid: int, what: str) -> int:
        """The reason code; a connection that is lost meanwhile raises `ConnectionError`."""
        self._await(lambda: self._acks.get(mid) or not (self.is_up or self._stays), what, 60)
        if mid not in self._acks:
            raise ConnectionError(f"the connection was lost before {what}")
        return self._acks.pop(mid)[0]

    def _summary(self) -> str:
        tail = [f"  {m.topic} {m.payload[:160]!r}" for m in self.heard[-8:]]
        return "\n".join([f"{self.login.client_id} heard last:", *tail])

    def _make_client(self, will: tuple | None) -> paho.Client:
        client = paho.Client(
            paho.CallbackAPIVersion.VERSION2, self.login.client_id,
            protocol=paho.MQTTv311 if self.login.is_old else paho.MQTTv5,
            transport="unix" if self.login.socket else "tcp",
            reconnect_on_failure=self._stays,
        )
        if self.login.username is not None:
            client.username_pw_set(self.login.username, self.login.password)
        if will is not None:
            client.will_set(will[0], will[1], qos=1, retain=True)
        if self._stays:
            client.reconnect_delay_set(1, 1)
        client.on_connect = self._connected
        client.on_disconnect = self._disconnected
        client.on_message = self._received
        client.on_publish = lambda c, u, mid, code, p: self._acknowledged(mid, [code.value])
        client.on_subscribe = lambda c, u, mid, codes, p: self._acknowledged(
            mid, [code.value for code in codes]
        )
        return client

    def _connected(self, client, userdata, flags, code, properties) -> None:
        with self._changed:
            again, self._was_up = self._was_up, self._was_up or not code.is_failure
            self._connack = code.value or 1
            self.is_up = not code.is_failure
            self._changed.notify_all()
        if again and self.is_up:
            self._renewed = [client.subscribe(f, qos=1)[1] for f in self._filters]

    def _disconnected(self, client, userdata, flags, code, properties) -> None:
        with self._changed:
            self.is_up, self._renewed = False, None
            self._changed.notify_all()

    def _acknowledged(self, mid: int, codes: list[int]) -> None:
        with self._changed:
            self._acks[mid] = codes
            self._changed.notify_all()

    def _received(self, client, userdata, raw) -> None:
        properties = raw.properties
        message = Message(
            raw.topic, bytes(raw.payload), raw.qos, bool(raw.retain),
            dict(getattr(properties, "UserProperty", [])),
            getattr(properties, "ResponseTopic", None),
            getattr(properties, "CorrelationData", None),
            getattr(properties, "MessageExpiryInterval", None),
        )
        self.journal.append((message.topic, message.payload))
        with self._changed:
            self.heard.append(message)
            self._changed.notify_all()
        if self._on_message is not None:
            self._on_message(message)
