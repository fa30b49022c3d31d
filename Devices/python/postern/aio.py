"""The same as `postern.App`, for asyncio.

>>> async with postern.aio.App("thermo") as app:
...     seq = await app.create("Reading", celsius=21.5)
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, AsyncIterator, Awaitable, Callable, Coroutine, Optional, Type

from . import _app
from ._errors import Unavailable
from ._request import Request
from ._session import Session
from ._writer import Writer

__all__ = ["App"]


class App(Writer[Coroutine[Any, Any, int]]):
    """See `postern.App`. A write that is cancelled is not sent again; it may have arrived."""

    def __init__(
        self, name: str, bus: Optional[str] = None, username: Optional[str] = None,
        password: Optional[str] = None, *, timeout: float = 30.0,
    ):
        self._app = _app.App(name, bus, username, password, timeout=timeout)

    async def session(self) -> Session:
        async for session in self.sessions():
            return session
        raise Unavailable("the agent has published no session")

    async def sessions(self) -> AsyncIterator[Session]:
        """The session now, and at each change. A slow reader receives the newest only. Raises
        `Unavailable` if the agent has published none within the app's timeout."""
        loop = asyncio.get_running_loop()
        newest: "asyncio.Queue[Session]" = asyncio.Queue(maxsize=1)

        def replace(session: Session) -> None:
            if newest.full():
                newest.get_nowait()
            newest.put_nowait(session)

        def note(session: Session) -> None:
            loop.call_soon_threadsafe(replace, session)

        self._app.on_session(note)
        try:
            try:
                yield await asyncio.wait_for(newest.get(), self._app.timeout)
            except asyncio.TimeoutError:
                raise Unavailable("the agent has published no session") from None
            while True:
                yield await newest.get()
        finally:
            self._app._link.mute(note)

    def on_command(
        self, handler: Callable[[Any], Awaitable[Any]],
    ) -> Callable[[Any], Awaitable[Any]]:
        """As `postern.App.on_command`, with a coroutine in the running loop."""
        loop = asyncio.get_running_loop()

        async def handle(content: Any) -> Any:
            return await handler(content)

        def wait(content: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(handle(content), loop).result()

        self._app.on_command(wait)
        return handler

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._app.close)

    async def __aenter__(self) -> "App":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def _finish(self, request: Request) -> int:
        try:
            return _app.number(await asyncio.wrap_future(self._app._start(request)))
        except Unavailable as error:
            error._again = lambda: self._finish(request)
            raise
        finally:
            self._app._link.forget(request)
