"""Waiting for a condition, always with a bound, never for an interval alone."""

import time
from typing import Callable, TypeVar

Found = TypeVar("Found")


def until(condition: Callable[[], Found], what: str, timeout: float = 60.0,
          log: Callable[[], str] = str) -> Found:
    """The first truthy value of `condition`; fails the test with `what`, and with what `log` has
    then, after `timeout` s."""
    end = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout:g} s for {what}\n{log()}".rstrip())
        time.sleep(0.02)
