"""The connection of an app to the bus. It sends requests again until they are answered."""

from __future__ import annotations

import collections
import json
import socket
import threading
import time
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties as _Properties

from ._command import SEEN, Commander, Handler
from ._errors import Refused, SessionOver, Unavailable
from ._login import Bus
from ._request import AGAIN, Request
from ._session import Session

_SESSION = "postern/session"
# paho-mqtt has no types for it.
Properties: Any = _Properties
#: The longest pause between two tries of one request, in seconds.
_LONGEST = 60.0


class _Client(paho.Client):
    """Also connects to a Unix socket, which paho-mqtt 1.6 does not."""

    unix: Optional[str] = None

    def _create_socket_connection(self) -> socket.socket:
        if self.unix is None:
            return super()._create_socket_connection()
        made = socket.socket(socket.AF_UNIX)
        try:
            made.settimeout(5)
            made.connect(self.unix)
        except OSError:
            made.close()
            raise
        return made


class Link:
    """Connects in the background, and again whenever the connection ends."""

    def __init__(
        self, name: str, bus: Bus, username: str, password: Callable[[], Optional[str]],
    ):
        self._name = name
        self._base = f"postern/app/{name}"
        self._username, self._password = username, password
        self._bus = bus
        self._changed = threading.Condition()
        self._requests: Dict[bytes, Request] = {}
        self._listeners: List[Callable[[Session], None]] = []
        self._session: Optional[Session] = None
        self._commander: Optional[Commander] = None
        self._commands_seen: Deque[str] = collections.deque(maxlen=SEEN)
        self._is_connected = False
        self._problem = "it has not answered"
        self._is_closed = False
        self._client = self._make_client()
        self._client.connect_async(bus.host, bus.port, keepalive=60)
        self._client.loop_start()
        self._sender = threading.Thread(target=self._run, name=f"postern {name}", daemon=True)
        self._sender.start()

    def _make_client(self) -> _Client:
        version = getattr(paho, "CallbackAPIVersion", None)
        first = [version.VERSION2] if version else []
        client = _Client(*first, protocol=paho.MQTTv5)  # type: ignore[misc]
        client.unix = self._bus.socket
        client.username_pw_set(self._username, self._password())
        client.reconnect_delay_set(1, 8)
        client.on_connect = self._connected
        client.on_connect_fail = self._unreached
        client.on_disconnect = self._disconnected
        client.on_message = self._received
        return client

    # What callers do.

    def send(self, request: Request, timeout: float) -> Request:
        with self._changed:
            if self._is_closed:
                raise RuntimeError("the app is closed")
            self._requests[request.correlation] = request.begin(time.monotonic(), timeout)
            self._changed.notify_all()
        return request

    def forget(self, request: Request) -> None:
        with self._changed:
            self._requests.pop(request.correlation, None)

    @property
    def session(self) -> Optional[Session]:
        return self._session

    def wait_session(self, timeout: float) -> Optional[Session]:
        with self._changed:
            self._changed.wait_for(lambda: self._session is not None or self._is_closed, timeout)
            return self._session

    def listen(self, listener: Callable[[Session], None]) -> None:
        """Called at each change, and now if the session is known. Not after `close`."""
        with self._changed:
            self._listeners.append(listener)
            known = self._session
        if known is not None:
            listener(known)

    def mute(self, listener: Callable[[Session], None]) -> None:
        with self._changed:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def command(self, handler: Handler) -> None:
        """Commands go to this handler, and no longer to an earlier one."""
        with self._changed:
            before, self._commander = self._commander, Commander(
                handler, self._reply, self._name, self._commands_seen)
            is_connected = self._is_connected
        if before is not None:
            before.close()
        elif is_connected:
            self._client.subscribe(f"{self._base}/command", qos=1)

    def _reply(self, command: str, answer: bytes) -> None:
        self._client.publish(f"{self._base}/answer/{command}", answer, 1, False)

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._commander is not None:
            self._commander.close()
        # A callback of a write that was given up may close, too.
        if threading.current_thread() is not self._sender:
            self._sender.join()
        self._client.disconnect()
        self._client.loop_stop()

    # The thread that sends.

    def _run(self) -> None:
        is_closed = False
        while not is_closed:
            with self._changed:
                now, is_closed = time.monotonic(), self._is_closed
                late = [r for r in self._requests.values() if r.until <= now or is_closed]
                ends = [(request, self._give_up(request)) for request in late]
                if not ends and not is_closed:
                    for request in list(self._requests.values()):
                        if request.due <= now and self._is_connected:
                            self._publish(request, now)
                    self._changed.wait(self._idle(now))
            # Without the lock, because these call callers' code.
            for request, error in ends:
                _end(request, error=error)

    def _idle(self, now: float) -> Optional[float]:
        """The time until something is due, an hour at most; None if nothing is."""
        times = [r.until for r in self._requests.values()]
        if self._is_connected:
            times += [r.due for r in self._requests.values()]
        return min(max(min(times) - now, 0), 3600) if times else None

    def _publish(self, request: Request, now: float) -> None:
        asked = Properties(PacketTypes.PUBLISH)
        asked.ResponseTopic = f"{self._base}/answers"
        asked.CorrelationData = request.correlation
        asked.UserProperty = ("key", request.key)
        # The agent may store this try, and its answer may be lost.
        request.last = None
        self._client.publish(f"{self._base}/{request.path}", request.payload, 1, False, asked)
        request.due = now + request.pause
        request.pause = min(2 * request.pause, _LONGEST)

    def _give_up(self, request: Request) -> Exception:
        self._requests.pop(request.correlation, None)
        if request.last is not None:
            error = failure(request.last)
            # The queue is full, or the app is too fast: the same write may be sent again.
            return Unavailable(str(error)) if isinstance(error, Refused) else error
        return Unavailable(
            "the agent has not answered" if self._is_connected
            else f"the bus is away: {self._problem}")

    # paho's thread.

    def _connected(self, client: Any, _own: Any, _flags: Any, reason: Any, *_more: Any) -> None:
        code = getattr(reason, "value", reason)
        if code != 0:
            with self._changed:
                self._problem = str(reason)
            # The password may have been changed since.
            client.username_pw_set(self._username, self._password())
            return
        with self._changed:
            self._is_connected = True
            # The agent keeps a command back while nobody subscribes to its topic.
            mine = [] if self._commander is None else [f"{self._base}/command"]
        for topic in (_SESSION, f"{self._base}/answers", f"{self._base}/rejected", *mine):
            client.subscribe(topic, qos=1)
        with self._changed:
            now = time.monotonic()
            for request in self._requests.values():
                request.due, request.pause = now, 2.0
            self._changed.notify_all()

    def _unreached(self, *_arguments: Any) -> None:
        with self._changed:
            self._problem = "nothing listens there"

    def _disconnected(self, *_arguments: Any) -> None:
        with self._changed:
            self._is_connected = False
            self._problem = "the connection ended"
            self._changed.notify_all()

    def _received(self, _client: Any, _own: Any, message: Any) -> None:
        if message.topic == _SESSION:
            self._note(Session.parse(message.payload))
            return
        if message.topic == f"{self._base}/command":
            if self._commander is not None:
                self._commander.take(message)
            return
        correlation = getattr(message.properties, "CorrelationData", None)
        try:
            answer = json.loads(message.payload)
        except ValueError:
            return
        if isinstance(answer, dict) and isinstance(correlation, bytes):
            self._take(correlation, answer)

    def _take(self, correlation: bytes, answer: Mapping[str, Any]) -> None:
        with self._changed:
            request = self._requests.get(correlation)
            if request is None:
                return
            if answer.get("code") in AGAIN and answer.get("final") is not True:
                request.last = answer
                request.due = time.monotonic() + min(request.pause, 5.0)
                self._changed.notify_all()
                return
            del self._requests[correlation]
        _end(request, answer=answer)

    def _note(self, session: Optional[Session]) -> None:
        if session is None:
            return
        with self._changed:
            is_new = session != self._session
            self._session = session
            if session.available:
                for request in self._requests.values():
                    if request.last is not None:
                        request.due = time.monotonic()
            self._changed.notify_all()
            listeners = list(self._listeners) if is_new else []
        for listener in listeners:
            listener(session)


def _end(
    request: Request, *, answer: Optional[Mapping[str, Any]] = None,
    error: Optional[Exception] = None,
) -> None:
    # False if the caller has cancelled it.
    if not request.future.set_running_or_notify_cancel():
        return
    if error is not None:
        request.future.set_exception(error)
    else:
        request.future.set_result(answer or {})


def failure(answer: Mapping[str, Any]) -> Exception:
    """The exception for an answer with a `code`."""
    return SessionOver(answer) if answer.get("code") in (206, 209) else Refused(answer)
