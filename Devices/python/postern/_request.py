"""One request to the agent, and how its answer is read."""

from __future__ import annotations

import json
import re
import uuid
from concurrent.futures import Future
from typing import Any, Mapping, Optional

_CLASS = re.compile(r"_?[A-Za-z][A-Za-z0-9_]{0,127}")
_OBJECT = re.compile(r"[A-Za-z0-9_-]{1,64}")

#: Answers after which the same request is sent again: the queue is full, too fast, no session yet.
AGAIN = (140, 155, 206, 209)


class Request:
    """Sent again under one key until it has an answer."""

    def __init__(self, path: str, payload: bytes = b"{}", key: Optional[str] = None):
        """`key` is the caller's own, or None for a new one."""
        if key is not None and not 1 <= len(key.encode()) <= 64:
            raise ValueError("a key has 1 to 64 bytes")
        self.path = path
        self.payload = payload
        self.key = key or str(uuid.uuid4())
        # Its own, because two requests at once may have one key.
        self.correlation = uuid.uuid4().bytes
        self.begin(0.0, 0.0)

    def begin(self, now: float, timeout: float) -> "Request":
        """Starts the time limit, for the first time or again."""
        self.future: "Future[Mapping[str, Any]]" = Future()
        self.until = now + timeout
        self.pause = 2.0
        self.due = now
        #: The answer to the last try, if it asks for another.
        self.last: Optional[Mapping[str, Any]] = None
        return self


def write(
    verb: str, class_name: str, object_id: Optional[str], payload: bytes,
    key: Optional[str] = None,
) -> Request:
    """Raises ValueError for a name that no topic may have."""
    if not _CLASS.fullmatch(class_name):
        raise ValueError("a class has letters, digits and _, and begins with a letter")
    if object_id is None:
        return Request(f"{verb}/{class_name}", payload, key)
    if not _OBJECT.fullmatch(object_id):
        raise ValueError("an object id has 1 to 64 of letters, digits, _ and -")
    return Request(f"{verb}/{class_name}/{object_id}", payload, key)


def encode(value: Any, fields: Mapping[str, Any]) -> bytes:
    """The JSON of an object, of fields, or of both together. Bytes are sent as they are."""
    if isinstance(value, bytes):
        if fields:
            raise TypeError("bytes have no fields")
        return value
    if fields and value is not None and not isinstance(value, Mapping):
        raise TypeError("fields can be added to a mapping only")
    members = {**(value or {}), **fields} if isinstance(value, Mapping) or value is None else value
    return json.dumps(members, allow_nan=False, separators=(",", ":")).encode()
