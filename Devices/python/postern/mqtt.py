"""paho-mqtt, with a `Client` whose writes to Postern are safe. Change one line of your program:

>>> import postern.mqtt as mqtt     # was: import paho.mqtt.client as mqtt

A `publish` to `postern/app/<name>/create/…`, `update/…` or `delete/…` is sent again until the agent
has answered, over restarts of bus and agent, and is one record. `wait_for_publish` and `on_publish`
then mean that the write is on the board's disk. All else is paho-mqtt, as it was.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Optional

import paho.mqtt.client as paho
from paho.mqtt.client import *  # noqa: F401, F403
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCodes as _ReasonCodes

from ._app import number
from ._link import Link, Properties
from ._login import Bus, check_name
from ._request import Request, write

ReasonCodes: Any = _ReasonCodes
_VERBS = ("create", "update", "delete")
#: So many writes without an answer, unless `max_queued_messages_set` says another number.
_MOST = 1000
#: A hundred years: `publish` of paho-mqtt has no time limit either.
_FOR_EVER = 100 * 365 * 86400.0


class WriteInfo(paho.MQTTMessageInfo):
    """What `publish` returns for a write."""

    __slots__ = ("seq", "error")

    def __init__(self, mid: int):
        super().__init__(mid)
        #: The number of the write, once the agent has it on disk.
        self.seq: Optional[int] = None
        #: Why the write failed: `Refused`, `SessionOver`, or `Unavailable` after `disconnect`.
        self.error: Optional[Exception] = None

    def wait_for_publish(self, timeout: Optional[float] = None) -> None:
        """Returns when the write is on the board's disk, or after the timeout, as paho-mqtt does:
        look at `is_published()` then. Raises `error` if the write failed."""
        super().wait_for_publish(timeout)
        if self.error is not None:
            raise self.error

    def is_published(self) -> bool:
        return super().is_published() and self.error is None

    def _end(self, seq: Optional[int], error: Optional[Exception]) -> None:
        with self._condition:
            self.seq, self.error, self._published = seq, error, True
            self._condition.notify_all()


class Client(paho.Client):  # type: ignore[no-redef]
    """A paho-mqtt client. Its writes take a connection of their own to the same bus, with MQTT 5
    and the same login. So they need no MQTT 5 of your program, and no loop."""

    #: Called as `on_reject(client, userdata, mid, error)` for a write that failed: see
    #: `WriteInfo.error`. This and `on_publish` of a write come from a thread of their own.
    on_reject: Optional[Callable[[Any, Any, int, Exception], None]] = None

    def __init__(self, *arguments: Any, **options: Any):
        self._lock = threading.Lock()
        self._name = ""
        self._link: Optional[Link] = None
        self._bus: Optional[Bus] = None
        self._login: "tuple[Optional[str], Optional[str]]" = (None, None)
        self._open = 0
        self._limit = _MOST
        super().__init__(*arguments, **options)

    # Where the bus is.

    def username_pw_set(self, username: Optional[str], password: Optional[str] = None) -> None:
        self._login = (username, password)
        super().username_pw_set(username, password)

    def connect_async(self, host: str, port: int = 1883, *more: Any, **options: Any) -> Any:
        is_unix = getattr(self, "_transport", "tcp") == "unix"
        self._bus = Bus(host) if is_unix else Bus(None, host, port)
        return super().connect_async(host, port, *more, **options)

    def max_queued_messages_set(self, queue_size: int) -> "Client":
        super().max_queued_messages_set(queue_size)
        self._limit = queue_size or _MOST
        return self

    # Writes.

    def publish(
        self, topic: str, payload: Any = None, qos: int = 0, retain: bool = False,
        properties: Any = None,
    ) -> paho.MQTTMessageInfo:
        """As paho-mqtt's. For a write `qos` and `retain` do not count, and a user property `key`
        in `properties` is its key. A write with a response topic of its own is yours: it is sent as
        paho-mqtt does. Raises ValueError for a name that no topic may have."""
        levels = topic.split("/")
        is_write = levels[:2] == ["postern", "app"] and len(levels) >= 5 and levels[3] in _VERBS
        if not is_write or getattr(properties, "ResponseTopic", None) is not None:
            return super().publish(topic, payload, qos, retain, properties)
        if (len(levels) == 5) != (levels[3] == "create") or len(levels) > 6:
            raise ValueError("create has a class; update and delete have a class and an object id")
        request = write(
            levels[3], levels[4], levels[5] if len(levels) == 6 else None, _bytes(payload),
            _key(properties))
        info = WriteInfo(self._mid_generate())
        with self._lock:
            link = self._connected_link(check_name(levels[2]))
            if link is None:
                info.rc = paho.MQTT_ERR_NO_CONN
                return info
            if self._open >= self._limit:
                info.rc = paho.MQTT_ERR_QUEUE_SIZE
                return info
            self._open += 1
        link.send(request, _FOR_EVER)
        request.future.add_done_callback(lambda _: self._ended(request, info))
        return info

    def disconnect(self, *arguments: Any, **options: Any) -> Any:
        """Also ends the writes that have no answer yet: wait for them before."""
        with self._lock:
            link, self._link = self._link, None
        if link is not None:
            link.close()
        return super().disconnect(*arguments, **options)

    def _connected_link(self, name: str) -> Optional[Link]:
        """None before `connect`."""
        if self._bus is None:
            return None
        if self._ssl_context is not None or self._transport not in ("tcp", "unix"):
            raise ValueError("writes reach a bus on this board by TCP or a Unix socket, no other")
        if self._link is None:
            self._name = name
            self._link = Link(
                name, self._bus, self._login[0] or name, lambda: self._login[1])
        elif name != self._name:
            raise ValueError(f"this client writes as {self._name}: {name} needs another")
        return self._link

    def _ended(self, request: Request, info: WriteInfo) -> None:
        with self._lock:
            self._open -= 1
        try:
            seq = number(request.future.result())
        except Exception as error:
            info._end(None, error)
            if self.on_reject is not None:
                self.on_reject(self, self._userdata, info.mid, error)
            return
        info._end(seq, None)
        published: Any = self.on_publish
        if published is None:
            return
        version = getattr(paho, "CallbackAPIVersion", None)
        if version and self.callback_api_version is version.VERSION2:
            published(self, self._userdata, info.mid, ReasonCodes(PacketTypes.PUBACK),
                      Properties(PacketTypes.PUBACK))
        else:
            published(self, self._userdata, info.mid)


def _bytes(payload: Any) -> bytes:
    """The same types as paho-mqtt takes."""
    if payload is None:
        return b""
    if isinstance(payload, (bytes, bytearray)):
        return bytes(payload)
    if isinstance(payload, (str, int, float)):
        return str(payload).encode()
    raise TypeError("payload must be a string, bytearray, bytes, int, float or None.")


def _key(properties: Any) -> Optional[str]:
    given = getattr(properties, "UserProperty", None) or []
    return next((value for name, value in given if name == "key"), None)
