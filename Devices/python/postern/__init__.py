"""Postern for programs on the board, and for those that read boards' data.

>>> import postern
>>> with postern.App("thermo") as app:
...     seq = app.create("Reading", celsius=21.5)

`seq` is the number of the write: it is on the board's disk, and leaves the board as soon as it can.
`postern.aio.App` is the same for asyncio, `postern.mqtt` is for programs that have paho-mqtt,
`postern.Consumer` reads what boards send, and `postern.testing` tests an app without a broker.
"""

from ._app import App
from ._check import Finding, Summary
from ._consumer import Consumer
from ._errors import Error, LoginEnded, Refused, SessionOver, Unavailable
from ._record import Record
from ._session import Session

__all__ = [
    "App", "Consumer", "Error", "Finding", "LoginEnded", "Record", "Refused", "Session",
    "SessionOver", "Summary", "Unavailable",
]
