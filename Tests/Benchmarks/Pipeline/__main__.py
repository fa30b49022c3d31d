"""The pipeline beside a mosquitto bridge: `make bench`.

    publisher → mosquitto → postern-agent (durable) → upstream mosquitto → consumer
    publisher → mosquitto that bridges              → upstream mosquitto → consumer

All in one run, turn by turn; medians over the rounds of ratios within a round. One table on
stdout, words on stderr, everything by --json. Ends with 0 whatever the figures are.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "Tests" / "Interop")]

from house import House  # noqa: E402
from loads import Broken, Load  # noqa: E402
from peers import LINKS, NAMES, Peers  # noqa: E402
from report import Table  # noqa: E402
from rounds import PARTS, Plan, Rounds  # noqa: E402


def main() -> int:
    wanted = _arguments()
    signal.signal(signal.SIGTERM, _interrupt)
    # A socket's path is short; the folder is on the disk that the queue is to be measured on.
    with tempfile.TemporaryDirectory(prefix="pb-", dir=wanted.folder) as name:
        folder = Path(name)
        try:
            rows, binary = _measure(folder, wanted)
        except (Broken, AssertionError, RuntimeError, OSError,
                subprocess.SubprocessError) as error:
            print(f"the benchmark did not work: {error}", file=sys.stderr)
            _show_logs(folder)
            return 1
    table = Table(rows, binary)
    print(table)
    print(_foot(wanted), file=sys.stderr)
    if wanted.json:
        Path(wanted.json).write_text(json.dumps({
            "machine": _machine(), "local": wanted.local, "plan": asdict(_plan(wanted)),
            "binary": binary, "table": table.lines, "rows": rows}, indent=1) + "\n")
    return 0


def _measure(folder: Path, wanted) -> tuple[list[dict], dict]:
    load = Load(folder)
    binary = _binary_size(folder, wanted.agent)
    house = House(folder, wanted.agent, is_unix=wanted.local == "unix")
    try:
        peers = Peers(house, wanted.peers, wanted.links)
        rounds = Rounds(house, peers, load, _plan(wanted))
        rounds.warm_up()
        rounds.measure()
        return rounds.rows, binary
    finally:
        house.close()


def _plan(wanted) -> Plan:
    short = wanted.short
    return Plan(
        rounds=wanted.rounds or (1 if short else 5), sizes=wanted.sizes, parts=wanted.parts,
        flow=wanted.count or (10_000 if short else 20_000), latency=300 if short else 1_000,
        backlog=20_000 if short else 100_000, starts=3 if short else 5,
        idle=5 if short else 20, stored=100_000 if short else 1_000_000, seed=wanted.seed, window=wanted.window)


def _arguments() -> argparse.Namespace:
    def some(known, form=str):
        def parse(text: str):
            found = tuple(form(part) for part in text.split(","))
            if known and not set(found) <= set(known):
                raise argparse.ArgumentTypeError(f"of {', '.join(known)}")
            return found
        return parse

    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    parser.add_argument("agent", type=Path, help="the postern-agent to measure")
    parser.add_argument("--json", metavar="FILE", help="where everything goes")
    parser.add_argument("--short", action="store_true", help="one small round")
    parser.add_argument("--rounds", type=int, help="5 without it")
    parser.add_argument("--count", type=int, help="messages of one measurement of throughput")
    parser.add_argument("--window", type=int, default=2000, help="on their way at most")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the peers")
    parser.add_argument("--local", choices=("unix", "tcp"), default="unix",
                        help="how programs, agent and broker of the board are connected")
    parser.add_argument("--folder", help="where the temporary folder is made")
    parser.add_argument("--peers", type=some(NAMES), default=NAMES,
                        metavar=",".join(NAMES))
    parser.add_argument("--links", type=some(LINKS), default=LINKS, metavar=",".join(LINKS))
    parser.add_argument("--parts", type=some(PARTS), default=PARTS, metavar=",".join(PARTS))
    parser.add_argument("--sizes", type=some(None, int), default=(64, 256, 1024),
                        metavar="64,256,1024")
    wanted = parser.parse_args()
    wanted.agent = wanted.agent.resolve()
    return wanted


def _binary_size(folder: Path, agent: Path) -> dict:
    stripped = folder / "stripped"
    subprocess.run(["strip", "-o", stripped, agent], check=True)
    return {"stripped": stripped.stat().st_size, "linked": agent.stat().st_size}


def _machine() -> dict:
    version = subprocess.run(["mosquitto", "-h"], capture_output=True, text=True).stdout
    return {"cores": os.cpu_count(), "system": platform.platform(),
            "load": os.getloadavg(), "mosquitto": version.splitlines()[0] if version else ""}


def _foot(wanted) -> str:
    load = os.getloadavg()[0]
    return (f"{os.cpu_count()} cores, load {load:.1f}; local connections over {wanted.local}; "
            "medians; a ratio is the agent's figure over the peer's in the same round")


def _show_logs(folder: Path) -> None:
    for path in sorted(folder.rglob("*.err")):
        lines = path.read_text(errors="replace").splitlines()[-8:]
        print(f"--- {path.stem}", *lines, sep="\n", file=sys.stderr)


def _interrupt(*_) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
