"""Sends one write from a shell: python3 -m postern thermo create Reading '{"celsius": 21.5}'"""

from __future__ import annotations

import argparse
import sys
from typing import List, Optional

from . import App, Refused, SessionOver, Unavailable
from ._request import write

# The codes of Postern's programs.
FAILED, USAGE, NOT_PROVISIONED, OFFLINE, NOT_PERMITTED = 1, 2, 4, 5, 77


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        "python3 -m postern", description="Sends one write to the agent of this board.")
    parser.add_argument("app", help="the app's name, which is its login at the bus")
    parser.add_argument("verb", choices=["create", "update", "delete"])
    parser.add_argument("class_name", metavar="CLASS[/OBJECT]")
    parser.add_argument("payload", nargs="?", help="JSON or any text; - reads stdin", default="{}")
    parser.add_argument("--bus", help="mqtt://host:port or unix:/path")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS")
    given = parser.parse_args(arguments)
    if given.payload == "-":
        payload = sys.stdin.buffer.read()
    else:
        payload = given.payload.encode()
    name, cut, object_id = given.class_name.partition("/")
    if bool(cut) == (given.verb == "create"):
        parser.error("update and delete need CLASS/OBJECT, create needs CLASS")
    try:
        request = write(given.verb, name, object_id if cut else None, payload)
        with App(given.app, given.bus, timeout=given.timeout) as app:
            print(app._finish(request))
        return 0
    except ValueError as error:
        parser.error(str(error))
    except Refused as error:
        print(f"refused: {error}", file=sys.stderr)
        return FAILED
    except SessionOver as error:
        print(f"no session: {error}", file=sys.stderr)
        return NOT_PROVISIONED
    except Unavailable as error:
        print(f"not sent for certain: {error}", file=sys.stderr)
        return OFFLINE
    except PermissionError as error:
        print(f"the login cannot be read: {error}", file=sys.stderr)
        return NOT_PERMITTED


if __name__ == "__main__":
    sys.exit(main())
