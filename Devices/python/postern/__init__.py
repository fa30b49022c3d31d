"""Postern for programs on the board.

>>> import postern
>>> with postern.App("thermo") as app:
...     seq = app.create("Reading", celsius=21.5)

`seq` is the number of the write: it is on the board's disk, and leaves the board as soon as it can.
`postern.aio.App` is the same for asyncio.
"""

from ._app import App
from ._errors import Error, Refused, SessionOver, Unavailable
from ._session import Session

__all__ = ["App", "Error", "Refused", "Session", "SessionOver", "Unavailable"]
