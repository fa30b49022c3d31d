"""Finds the bus and the login of an app."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import NamedTuple, Optional
from urllib.parse import urlsplit

#: The board's broker, as the package `postern-agent` sets it up.
SOCKET = "/run/postern-bus/bus.sock"
#: Where `postern-agent-app add NAME --user USER` puts a password.
LOGINS = "/etc/postern/apps"

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


class Bus(NamedTuple):
    #: A path, or None for TCP.
    socket: Optional[str]
    host: str = "127.0.0.1"
    port: int = 1883


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError("a name has 1 to 32 of a-z, 0-9 and -, and does not begin with -")
    return name


def find_bus(uri: Optional[str]) -> Bus:
    """`mqtt://host:port` or `unix:/path`; else $POSTERN_BUS, the board's socket or 127.0.0.1."""
    uri = uri or os.environ.get("POSTERN_BUS")
    if uri is None:
        # Only members of the group postern-apps may write to the socket.
        return Bus(SOCKET) if os.access(SOCKET, os.W_OK) else Bus(None)
    if uri.startswith("unix:"):
        return Bus(uri[len("unix:"):])
    parts = urlsplit(uri)
    if parts.scheme != "mqtt" or not parts.hostname or parts.path not in ("", "/"):
        raise ValueError("the bus is mqtt://host:port or unix:/path")
    return Bus(None, parts.hostname, parts.port or 1883)


def find_password(name: str) -> Optional[str]:
    """The first line of `NAME.password` in $CREDENTIALS_DIRECTORY, or where postern-agent-app puts
    it. None if there is none: a bus may let an app in without one."""
    folders = [os.environ.get("CREDENTIALS_DIRECTORY"), LOGINS]
    for folder in filter(None, folders):
        path = Path(folder, f"{name}.password")
        try:
            with path.open(encoding="utf-8") as file:
                if os.fstat(file.fileno()).st_mode & stat.S_IROTH:
                    raise PermissionError(f"every user can read {path}: chmod o-rwx it")
                return file.readline(1024).rstrip("\r\n")
        except FileNotFoundError:
            continue
    return None
