"""An authority under the load of many boards: `make bench-authority`.

    postern simulate (all boards) → mosquitto → postern-authority and its store, on one core
    ask.c            (all boards) → mosquitto → echo.c, on the same core

With SQLite and with PostgreSQL, few sessions stored and many, on one core and on all of them; and
two authorities, each on a part of a core, beside one on such a part. All in one run. Tables on
stdout, words on stderr, everything by --json. Ends with 0 whatever the figures are, and with 1
where something did not work.
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
sys.path[:0] = [str(HERE), str(ROOT / "Tests" / "Interop"), str(HERE.parent / "Pipeline")]

from bench.program import allow_files  # noqa: E402
from measures import Measures  # noqa: E402
from plan import Plan  # noqa: E402
from table import table  # noqa: E402


def main() -> int:
    wanted = _arguments()
    signal.signal(signal.SIGTERM, _interrupt)
    plan = Plan.short() if wanted.short else Plan.full()
    for name in ("boards", "in_flight", "seconds", "rounds", "few", "stored", "stores"):
        if (value := getattr(wanted, name)) is not None:
            setattr(plan, name, value)
    # Each board has a connection of its own.
    allow_files(plan.boards + 1000)
    with tempfile.TemporaryDirectory(prefix="pa-", dir=wanted.folder) as name:
        folder = Path(name)
        # PostgreSQL may run as another user, and has to come through.
        folder.chmod(0o711)
        figures = _measure(folder, wanted.programs.resolve(), plan)
    if figures["rows"] and figures["echo"]:
        print(table(figures))
    print(_foot(plan), file=sys.stderr)
    if wanted.json:
        Path(wanted.json).write_text(json.dumps({
            "machine": _machine(), "plan": asdict(plan), "figures": figures}, indent=1) + "\n")
    for failure in figures["failures"]:
        print(f"✗ did not work: {failure}", file=sys.stderr)
    return 1 if figures["failures"] else 0


def _measure(folder: Path, programs: Path, plan: Plan) -> dict:
    measures = Measures(folder, programs, plan, _say)
    measures.run()
    return {name: getattr(measures, name) for name in (
        "rows", "echo", "claims", "stored", "starts", "memory", "failures")}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench-authority", description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=Path, help="the folder of the programs to measure")
    parser.add_argument("--json", metavar="FILE", help="where everything goes")
    parser.add_argument("--short", action="store_true", help="a small fleet, one round, one core")
    parser.add_argument("--boards", type=int)
    parser.add_argument("--in-flight", type=int)
    parser.add_argument("--seconds", type=int, help="of each span of load")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--few", type=int, help="boards that have the store for themselves")
    parser.add_argument("--stored", type=int, help="sessions, where many are stored")
    parser.add_argument("--stores", nargs="+", choices=("sqlite", "postgres"))
    parser.add_argument("--folder", help="where the temporary folder is made")
    return parser.parse_args()


def _machine() -> dict:
    version = subprocess.run(["mosquitto", "-h"], capture_output=True, text=True).stdout
    return {"cores": os.cpu_count(), "system": platform.platform(),
            "load": os.getloadavg(), "mosquitto": version.splitlines()[0] if version else ""}


def _foot(plan: Plan) -> str:
    return (f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {plan.boards} boards, "
            f"{plan.in_flight} in flight, spans of {plan.seconds} s; medians of "
            f"{plan.rounds} rounds")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _interrupt(*_) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
