"""What a process has in its memory."""

import os
from pathlib import Path


def holds(process: int, *secrets: bytes) -> list[bytes]:
    """Those of the secrets that stand in the writable memory of a process."""
    found = set()
    memory = os.open(f"/proc/{process}/mem", os.O_RDONLY)
    try:
        for line in Path(f"/proc/{process}/maps").read_text().splitlines():
            span, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            start, end = (int(bound, 16) for bound in span.split("-"))
            try:
                content = os.pread(memory, end - start, start)
            except OSError:
                # It was given back meanwhile.
                continue
            found |= {secret for secret in secrets if secret in content}
    finally:
        os.close(memory)
    return sorted(found)
