"""One message of a board, as a consumer reads it."""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Optional, Pattern, Tuple

_IID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_FILTER = re.compile(rf"(.+)/(?:{_IID}|\+)/(?:data/.+|status)")
_SID = re.compile(r"[A-Za-z0-9]{10}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
#: Numbers are below this. So are those of `postern watch --check`.
_ABOVE = 1 << 62
#: Ranges in one status. Source: the wire contract, Completeness.
_RANGES = 1024


@dataclass(frozen=True)
class Record:
    """What an app wrote. Source: the wire contract, Data topics and properties."""

    #: The board's installation id.
    iid: str
    #: `Reading`, and `create`, `update` or `delete`.
    class_name: str
    op: str
    #: The record's id, beside `update` and `delete`.
    object_id: Optional[str]
    #: The app's bytes.
    payload: bytes
    app: Optional[str] = None
    #: The session that accepted the write.
    sid: Optional[str] = None
    #: Rises by one with each write of the board. None if the message is `unmarked`.
    seq: Optional[int] = None
    #: When the board accepted the write.
    ts: Optional[datetime.datetime] = None
    #: The levels that a route put behind the topic.
    further: Optional[str] = None

    def json(self) -> Any:
        """The payload as JSON. Raises ValueError if it is none."""
        return json.loads(self.payload)


class Malformed(Exception):
    """`sid`, `seq` or `ts` is missing or malformed, but not all three are missing."""


class Topics:
    """Reads the topics below the root that a consumer's own topics have."""

    def __init__(self, filters: Iterable[str]):
        found = [_FILTER.fullmatch(name) for name in filters]
        if not found or None in found:
            raise ValueError("topics are …/<board>/data/… and …/<board>/status, as "
                             "`postern consumers add` prints them")
        roots = "|".join(sorted({re.escape(match[1]) for match in found if match}))
        below = rf"(?:{roots})/(?P<iid>{_IID})"
        self._status = re.compile(rf"{below}/status")
        self._data: Pattern[str] = re.compile(
            rf"{below}/data/(?P<class>_?[A-Za-z][A-Za-z0-9_]{{0,127}})/"
            r"(?:(?P<create>create)|(?P<op>update|delete)/(?P<object>[A-Za-z0-9_-]{1,64}))"
            r"(?:/(?P<further>[^/]+(?:/[^/]+)*))?")

    def record(
        self, topic: str, payload: bytes, given: Mapping[str, str],
    ) -> "Optional[Tuple[str, Optional[Record]]]":
        """The board, and its record; None for it if it is malformed. None for other topics."""
        match = self._data.fullmatch(topic)
        if match is None:
            return None
        try:
            sid, seq, ts = _mark(given)
        except Malformed:
            return match["iid"], None
        return match["iid"], Record(
            match["iid"], match["class"], match["create"] or match["op"], match["object"],
            payload, given.get("app"), sid, seq, ts, match["further"])

    def gaps(
        self, topic: str, payload: bytes,
    ) -> "Optional[Tuple[str, Tuple[Tuple[int, int], ...]]]":
        """The board of a status, and the numbers that it says will never come."""
        match = self._status.fullmatch(topic)
        if match is None:
            return None
        try:
            ranges = json.loads(payload)["gapRanges"][-_RANGES:]
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        pairs = [(r[0], r[1]) for r in ranges if isinstance(r, list) and len(r) == 2]
        return match["iid"], tuple(
            (a, b) for a, b in pairs
            if type(a) is int and type(b) is int and 0 < a <= b < _ABOVE)


def _mark(given: Mapping[str, str]) -> "Tuple[Optional[str], Any, Any]":
    sid, seq, ts = (given.get(name) for name in ("sid", "seq", "ts"))
    if sid is None and seq is None and ts is None:
        return None, None, None
    if sid is None or not _SID.fullmatch(sid):
        raise Malformed
    number, milliseconds = _number(seq), _number(ts)
    if number == 0:
        raise Malformed
    try:
        time = datetime.datetime.fromtimestamp(milliseconds // 1000, datetime.timezone.utc)
    except (ValueError, OverflowError, OSError):
        raise Malformed from None
    return sid, number, time + datetime.timedelta(milliseconds=milliseconds % 1000)


def _number(text: Optional[str]) -> int:
    if text is None or not _NUMBER.fullmatch(text) or int(text) >= _ABOVE:
        raise Malformed
    return int(text)
