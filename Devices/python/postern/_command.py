"""Commands that people send to an app. Source: the wire contract, A command for an app."""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
import uuid
from typing import Any, Callable, Deque, Optional, Tuple

#: Gets what the person sent, and returns the answer: any JSON value.
Handler = Callable[[Any], Any]
#: So many ids are remembered, because MQTT may deliver a message twice.
SEEN = 256
#: So many commands wait for the handler; more are not taken.
_WAITING = 64
_LONGEST = 16 * 1024
_LONGEST_WAIT = 86400.0
_LOG = logging.getLogger("postern")


class Commander:
    """Calls the handler with one command after the other, in a thread of its own."""

    def __init__(
        self, handler: Handler, answer: Callable[[str, bytes], None], name: str,
        seen: Deque[str],
    ):
        self._handler, self._answer = handler, answer
        self._seen = seen
        self._waiting: "queue.Queue[Optional[Tuple[str, float, Any]]]" = queue.Queue(_WAITING)
        threading.Thread(target=self._run, name=f"postern commands {name}", daemon=True).start()

    def take(self, message: Any) -> None:
        """Takes a message of the agent. Drops what is none, what came before, and what is late."""
        try:
            body = json.loads(message.payload)
            command, content = str(uuid.UUID(body["id"])), body["command"]
            left = min(body["deadline"] - time.time(), _LONGEST_WAIT)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
            return
        if command in self._seen:
            return
        # What the broker counts needs no clock. MQTT 3.1.1 does not have it.
        seconds = getattr(message.properties, "MessageExpiryInterval", None)
        until = time.monotonic() + (left if seconds is None else seconds)
        try:
            self._waiting.put_nowait((command, until, content))
        except queue.Full:
            _LOG.error("a command is dropped, because %d wait for the handler", _WAITING)
            return
        self._seen.append(command)

    def close(self) -> None:
        """Handles no further command. Does not wait for the handler."""
        try:
            while True:
                self._waiting.get_nowait()
        except queue.Empty:
            self._waiting.put(None)

    def _run(self) -> None:
        while True:
            task = self._waiting.get()
            if task is None:
                return
            command, until, content = task
            if time.monotonic() < until:
                self._answer(command, self._handle(content))

    def _handle(self, content: Any) -> bytes:
        """The answer; `{"error": …}` with the name of the exception if the handler fails."""
        try:
            answer = json.dumps(
                self._handler(content), allow_nan=False, separators=(",", ":")).encode()
            if len(answer) <= _LONGEST:
                return answer
            raise ValueError("an answer has at most 16 KiB as JSON")
        except Exception as error:
            _LOG.exception("the handler of a command failed")
            return json.dumps({"error": type(error).__name__}).encode()
