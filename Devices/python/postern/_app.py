"""A program on the board that writes to the agent."""

from __future__ import annotations

from concurrent.futures import Future
from types import TracebackType
from typing import Any, Callable, Mapping, Optional, Type

from ._command import Handler
from ._errors import Unavailable
from ._link import Link, failure
from ._login import check_name, find_bus, find_password
from ._request import Request
from ._session import Session
from ._writer import Writer

#: `postern.testing` puts an agent in memory here.
connect: Callable[..., Link] = Link


class App(Writer[int]):
    """An app of this name. It connects in the background, and again after each break.

    `bus` is `mqtt://host:port` or `unix:/path`. Without it and without a password they are found
    where the package `postern-agent` and `postern-agent-app` put them. `timeout` is in seconds.
    All methods may be called from any thread. A write returns its number, and raises `Refused`,
    `SessionOver`, or `Unavailable` after `timeout`.
    """

    def __init__(
        self, name: str, bus: Optional[str] = None, username: Optional[str] = None,
        password: Optional[str] = None, *, timeout: float = 30.0,
    ):
        self.name = check_name(name)
        self.timeout = timeout
        found = find_bus(bus)
        self._link = connect(
            name, found, username or name,
            lambda: find_password(name) if password is None else password)

    def session(self) -> Session:
        """The session now. Raises `Unavailable` if the agent publishes none within `timeout`."""
        known = self._link.wait_session(self.timeout)
        if known is None:
            raise Unavailable("the agent has published no session")
        return known

    def on_session(self, callback: Callable[[Session], None]) -> None:
        """Calls back with the session at each change, and now if it is known.

        The call comes from another thread. It must not wait for a write.
        """
        self._link.listen(callback)

    def on_command(self, handler: Handler) -> Handler:
        """Calls the handler with each command that a person sends to this app. What it returns is
        the answer: any JSON value, at most 16 KiB. Also a decorator: `@app.on_command`.

        The handler gets one command after the other, in a thread of its own, and no command twice.
        The board's `policy.toml` must have `commands = true` for the app.
        """
        self._link.command(handler)
        return handler

    def close(self) -> None:
        """Ends the connection. Writes that wait raise what they raise after `timeout`."""
        self._link.close()

    def __enter__(self) -> "App":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _start(self, request: Request) -> "Future[Mapping[str, Any]]":
        return self._link.send(request, self.timeout).future

    def _finish(self, request: Request) -> int:
        try:
            return number(self._start(request).result())
        except Unavailable as error:
            error._again = lambda: self._finish(request)
            raise
        finally:
            # After ^C the write is not sent again.
            self._link.forget(request)


def number(answer: Mapping[str, Any]) -> int:
    """The number of a write. Raises what the agent answered instead."""
    if "code" in answer:
        raise failure(answer)
    return int(answer["seq"])
