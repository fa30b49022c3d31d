"""The forms of names: which are well formed, which classes are protected, and new ones."""

import re
import secrets
import string
import uuid

from . import base64url

_FORMS = {
    "iid": r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "session id": r"[A-Za-z0-9]{10}",
    "object id": r"[A-Za-z0-9_-]{1,64}",
    "session token": r"r:[A-Za-z0-9_-]{43}",
    "refresh token": r"rt:[A-Za-z0-9_-]+",
    "class": r"_?[A-Za-z][A-Za-z0-9_]{0,127}",
    "app": r"[a-z0-9][a-z0-9-]{0,31}",
}
PROTECTED_CLASSES = ("_User", "_Session", "_Role")


def is_a(form: str, text: object) -> bool:
    """Whether `text` has the form of that name; ASCII only, the whole string."""
    return isinstance(text, str) and re.fullmatch(_FORMS[form], text, re.ASCII) is not None


def is_refused_class(name: str) -> bool:
    """Whether a restricted session may never write the class, whatever any rule says."""
    return name.startswith("_")


def new_iid() -> str:
    return str(uuid.uuid4())


def new_session_id() -> str:
    letters = string.ascii_letters + string.digits
    return "".join(secrets.choice(letters) for _ in range(10))


def new_session_token() -> str:
    return "r:" + base64url.encode(secrets.token_bytes(32))
