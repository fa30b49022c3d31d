"""The session of the board, as the agent publishes it."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional


@dataclass(frozen=True)
class Session:
    """Whether the board has a session. Source: the wire contract, The session on the bus."""

    #: Whether writes may leave the board.
    available: bool
    #: Why there is no session: `unclaimed`, `expired`, `revoked`, `offline` and others.
    reason: Optional[str] = None
    #: Whether a person must pair the board again.
    final: bool = False
    object_id: Optional[str] = None
    #: The id of the user who paired the board.
    user: Optional[str] = None
    #: None if the session has no end that is known.
    expires_at: Optional[datetime.datetime] = None
    #: All members of the session.
    members: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, payload: bytes) -> Optional["Session"]:
        """None for a payload that is no notice of a session."""
        try:
            body = json.loads(payload)
            if body["state"] == "unavailable":
                return cls(False, str(body["reason"]), body.get("final") is True)
            members = body["session"]
            return cls(
                True, object_id=str(members["objectId"]), user=str(members["user"]),
                expires_at=_time(members.get("expiresAt")), members=members)
        except (ValueError, KeyError, TypeError, OverflowError, OSError):
            return None


def _time(seconds: Any) -> Optional[datetime.datetime]:
    if seconds is None:
        return None
    return datetime.datetime.fromtimestamp(float(seconds), datetime.timezone.utc)
