"""`make cards`: ten boards from flashed cards, each in its own network namespace, are on the page
without a hand on any. Nothing is left at the end."""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from bench.program import Program, run
from bench.waiting import until

SCRIPT = Path(__file__).resolve().parents[2] / "Devices/simulated/demo/cards.py"
LIMIT = 120


@pytest.fixture
def tmp_path():
    """A short path, because the agents' sockets are in it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def may_divide() -> None:
    """Whether network namespaces can be made; without them the test is skipped, aloud."""
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        pytest.skip("there is no `ip` or no `unshare`: no card was flashed")
    rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    words = "ip link add b0 type bridge && ip link add v0 type veth peer name v1"
    if run(["unshare", *rights, "--net", "sh", "-c", words]).returncode != 0:
        pytest.skip("no network namespace can be made here: no card was flashed")


def ours(folder: Path) -> dict[str, str]:
    """The processes that name the folder: their ids and network namespaces."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if str(folder) in Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace"):
                found[pid] = os.readlink(f"/proc/{pid}/ns/net")
        except OSError:
            continue
    return found


def all_namespaces() -> set[str]:
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.add(os.readlink(f"/proc/{pid}/ns/net"))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("count, options", [(10, []), (3, ["--auto-accept"])],
                         ids=["accepted", "by-themselves"])
def test_cards_are_on_the_page_in_two_minutes(
        programs, tmp_path, may_divide, count, options, record_property, capsys):
    script = Program("cards", [sys.executable, SCRIPT, "--cards", str(count), *options, programs],
                     tmp_path, {"TMPDIR": str(tmp_path)}).start()
    seen: set[str] = set()

    def ended() -> bool:
        seen.update(ours(tmp_path).values())
        return not script.is_running

    try:
        # The start of the authority comes before, and the end of all programs after.
        until(ended, "the script to end", LIMIT + 120)
        said = script.out.read_text()
        assert script.process.returncode == 0, said + script.log
    finally:
        script.close()
    assert "✗" not in said and script.log == ""
    told = re.search(rf"^{count} boards on the page, ([\d.]+) s after their power", said, re.M)
    record_property("seconds from power on to the page", told[1])
    with capsys.disabled():
        print(f"\n  {count} cards: on the page {told[1]} s after their power came on", flush=True)
    assert float(told[1]) < LIMIT
    if not options:
        shown = re.findall(r"^ +barn-\d+ +([0-9A-Z]{4}(?:-[0-9A-Z]{4}){2})$", said, re.M)
        assert len(set(shown)) == count
    # Each card and the authority had a network of their own. None is left, and no process or file.
    assert len(seen) >= count + 1
    assert ours(tmp_path) == {}
    assert not (seen - {os.readlink("/proc/self/ns/net")}) & all_namespaces()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cards.err", "cards.out"]
