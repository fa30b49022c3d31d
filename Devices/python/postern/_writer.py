"""The three writes, for programs that wait by blocking and for asyncio."""

from __future__ import annotations

from typing import Any, Generic, Optional, TypeVar

from ._request import Request, encode, write

_Result = TypeVar("_Result")


class Writer(Generic[_Result]):
    """Sends each write again until there is an answer, under one key: there is never a second
    record. The result is the number of the write, which the agent then has on disk."""

    _key: Optional[str] = None

    def create(self, cls: str, object: Any = None, /, **fields: Any) -> _Result:
        """Makes a record of this class, from an object or from fields: `create("Reading", c=21.5)`.
        """
        return self._finish(write("create", cls, None, encode(object, fields), self._key))

    def update(self, cls: str, object_id: str, object: Any = None, /, **fields: Any) -> _Result:
        """Changes a record."""
        return self._finish(write("update", cls, object_id, encode(object, fields), self._key))

    def delete(self, cls: str, object_id: str, /) -> _Result:
        """Deletes a record."""
        return self._finish(write("delete", cls, object_id, b"{}", self._key))

    def once(self, key: str) -> "Once[_Result]":
        """For one write with a key of your own, which a program that was killed may send again:
        `app.once("2026-11-25T10:00").create("Reading", c=21.5)`.

        The agent remembers a key for 10 minutes. A key is for one write only: with another payload
        the first answer comes again.
        """
        return Once(self, key)

    def _finish(self, request: Request) -> _Result:
        raise NotImplementedError


class Once(Writer[_Result]):
    """The writes of an app, under a key that the caller gave."""

    def __init__(self, writer: Writer[_Result], key: str):
        self._writer, self._key = writer, key

    def _finish(self, request: Request) -> _Result:
        return self._writer._finish(request)
