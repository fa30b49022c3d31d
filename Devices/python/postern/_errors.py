"""The ways in which a write can fail."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional


class Error(Exception):
    """Any failure of a write or a read."""


class Refused(Error):
    """A rule refuses the write. Do not send it again before the program or the policy changed.

    `code` is the number of the error, `rule` what decided, and `field` the member of the payload
    that decided, if one did. Source: the wire contract, The rejection.
    """

    def __init__(self, answer: Mapping[str, Any]):
        super().__init__(str(answer.get("error", "refused")))
        self.code: int = int(answer.get("code", 0))
        self.rule: str = str(answer.get("rule", ""))
        field = answer.get("field")
        self.field: Optional[str] = None if field is None else str(field)

    def __str__(self) -> str:
        place = f", field {self.field}" if self.field else ""
        return f"{self.code} {super().__str__()} ({self.rule}{place})"


class SessionOver(Error):
    """There is no session. `final` says whether a person must pair the board again. If it is false,
    the session may come back by itself."""

    def __init__(self, answer: Mapping[str, Any]):
        super().__init__(str(answer.get("error", "there is no session")))
        self.code: int = int(answer.get("code", 209))
        self.final: bool = answer.get("final") is True


class Unavailable(Error):
    """The write was not taken in time: the bus or the agent is away, the queue is full, or the app
    is faster than the policy allows.

    It may have arrived. `retry()` sends the same write again, with the same key, so there is never
    a second record. It returns and raises what the first call would have. With `postern.aio`, await
    it.
    """

    _again: Optional[Callable[[], Any]] = None

    def retry(self) -> Any:
        if self._again is None:
            raise RuntimeError("this was no write")
        return self._again()


class LoginEnded(Error):
    """The broker refuses the login of a consumer: it was removed, its time is over, or it is wrong.

    It cannot be renewed. `postern consumers add` makes another.
    """
