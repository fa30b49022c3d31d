"""The topics between board and authority, and on the board's own bus."""

ROOT = "postern/v1"


def inbox(iid: str) -> str:
    return f"{ROOT}/{iid}/inbox"


def outbox(iid: str) -> str:
    return f"{ROOT}/{iid}/outbox"


def status(iid: str) -> str:
    return f"{ROOT}/{iid}/status"


def data(iid: str, class_name: str, op: str, object_id: str | None = None) -> str:
    tail = f"/{object_id}" if object_id is not None else ""
    return f"{ROOT}/{iid}/data/{class_name}/{op}{tail}"


def iid_of(topic: str) -> str:
    return topic.removeprefix(ROOT + "/").split("/", 1)[0]


ALL_OUTBOXES = f"{ROOT}/+/outbox"
SHARED_OUTBOXES = f"$share/authority/{ROOT}/+/outbox"

BUS_SESSION = "postern/session"
BUS_HEALTH = "postern/health"


def app(name: str, *levels: str) -> str:
    """A topic of one program on the board's bus: `postern/app/<name>/…`."""
    return "/".join(("postern/app", name, *levels))
