"""The message types and their members. A missing or mistyped member is an error."""

import time
import uuid

from . import names
from .codes import INVALID_JSON, WRONG_TYPE, FORBIDDEN, ContractError

_COMMON = {"type": str, "id": str, "iat": int}

# member: its type; a leading "?" marks one that may be absent
_TO_BOARD = {
    "provision": {
        "seq": int, "exp": int, "authority": dict, "session": dict, "user": dict,
        "sessionToken": str, "accessToken": str, "refreshToken": str, "?scope": dict,
        "heartbeat": int, "offline": int, "?broker": dict,
    },
    "session.revoked": {"seq": int, "sessionId": str, "reason": str},
    "session.updated": {"seq": int, "session": dict, "?scope": dict},
    "command": {"sessionId": str, "app": str, "deadline": int, "command": object},
    "reply": {"re": str, "now": int, "?nowMilliseconds": int, "?error": dict, "?signKeys": list},
}
_TO_AUTHORITY = {
    "provision.accepted": {"re": str, "sessionId": str},
    "provision.rejected": {"re": str, "error": dict},
    "session.ended": {"re": str, "sessionId": str},
    "session.confirmed": {"re": str, "sessionId": str},
    "session.authenticate": {"sessionToken": str, "?durationMinutes": int, "?report": dict},
    "session.refresh": {"refreshToken": str},
    "session.revoke": {"sessionToken": str},
    "session.list": {"sessionToken": str},
    "user.get": {"sessionToken": str},
    "configuration.save": {"sessionToken": str, "?policy": object, "?routes": object},
    "configuration.get": {"sessionToken": str},
    "command.result": {"re": str, "sessionId": str, "state": str, "?uncertain": bool,
                       "?answer": object, "?error": dict, "?delivered": bool},
    "claim.join": {"installationId": str, "deviceKey": str, "claim": dict, "boardName": str},
}
UNANSWERED = (
    "provision.accepted", "provision.rejected", "session.ended", "session.confirmed",
    "claim.join")


def new(type_: str, *, at: float | None = None, **members) -> dict:
    """A message with a fresh `id`, issued `at` (now, unless told)."""
    iat = int(time.time() if at is None else at)
    return {"type": type_, "id": str(uuid.uuid4()), "iat": iat, **members}


def check_for_board(message: dict) -> None:
    _check(message, _TO_BOARD)
    if message["type"] == "provision":
        _check_provision(message)


def check_for_authority(message: dict) -> None:
    _check(message, _TO_AUTHORITY)


def _check(message: dict, types: dict[str, dict]) -> None:
    _check_members(message, _COMMON)
    members = types.get(message["type"])
    if members is None:
        raise ContractError(FORBIDDEN, "unknown message type")
    _check_members(message, members)


def _check_members(body: dict, members: dict[str, type]) -> None:
    for name, kind in members.items():
        key = name.removeprefix("?")
        if key not in body:
            if name == key:
                raise ContractError(INVALID_JSON, f"{key} is missing")
        elif kind is not object and (not isinstance(body[key], kind)
                                     or isinstance(body[key], bool) != (kind is bool)):
            raise ContractError(WRONG_TYPE, f"{key} has the wrong type")


def _check_provision(message: dict) -> None:
    _check_members(message["authority"], {"name": str, "sealKey": str, "signKeys": list})
    for key in message["authority"]["signKeys"]:
        _check_members(key, {"kid": str, "x": str})
    check_session(message["session"])
    _check_members(message["user"], {"objectId": str, "username": str})
    _check_members(
        message.get("broker", {}),
        {"?uri": str, "?username": str, "?password": str, "?ca": str},
    )


def check_session(session: dict) -> None:
    """The session object: always restricted, never with a token in it."""
    _check_members(
        session,
        {"objectId": str, "user": str, "restricted": bool, "createdWith": dict,
         "installationId": str},
    )
    _check_members(session["createdWith"], {"action": str, "authProvider": str})
    if session["restricted"] is not True or not names.is_a("session id", session["objectId"]):
        raise ContractError(WRONG_TYPE, "not a restricted session")
    if "createdAt" not in session or "expiresAt" not in session:
        raise ContractError(INVALID_JSON, "createdAt or expiresAt is missing")
    if "sessionToken" in session:
        raise ContractError(FORBIDDEN, "a token inside the session object")
