#!/usr/bin/env python3
"""Makes the wheel of the Python library: `python_wheel.py OUTPUT`.

The same files give the same bytes. All times are SOURCE_DATE_EPOCH, or else the time of the
changelog's newest entry. It needs nothing but Python, so a release needs no setuptools.
Source: Python packaging, Binary distribution format; Core metadata 2.1.
"""

import base64
import hashlib
import os
import re
import sys
import time
import tomllib
import zipfile
from email.utils import mktime_tz, parsedate_tz
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "Devices" / "python"


def make(output: Path) -> Path:
    project = tomllib.loads((LIBRARY / "pyproject.toml").read_text())["project"]
    name = f"{project['name']}-{project['version']}"
    info = f"{name}.dist-info"
    files = {f"postern/{path.name}": path.read_bytes()
             for path in sorted((LIBRARY / "postern").glob("*"))
             if path.suffix == ".py" or path.name == "py.typed"}
    files[f"{info}/METADATA"] = _metadata(project).encode()
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: postern\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    scripts = "".join(f"{name} = {call}\n" for name, call in sorted(project["scripts"].items()))
    files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{scripts}".encode()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    made = output / f"{name}-py3-none-any.whl"
    date = time.gmtime(_seconds())[:6]
    with zipfile.ZipFile(made, "w") as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, date)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return made


def _metadata(project: dict) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"License: {project['license']['text']}",
             f"Requires-Python: {project['requires-python']}",
             *(f"Requires-Dist: {needed}" for needed in project["dependencies"]),
             "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + (LIBRARY / project["readme"]).read_text()


def _record(files: dict[str, bytes], own: str) -> bytes:
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}")
    return "\n".join([*lines, f"{own},,", ""]).encode()


def _seconds() -> int:
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    text = (ROOT / "Devices/packages/debian/changelog").read_text()
    date = re.search(r"^ -- .*>  (.+)$", text, re.MULTILINE)
    return mktime_tz(parsedate_tz(date[1]))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python_wheel.py OUTPUT")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    print(make(folder))
