"""An authority under the load of many boards: `make bench-authority`.

    postern simulate (all boards) → mosquitto → postern-authority, on one core
    ask.c            (all boards) → mosquitto → echo.c, on the same core

All in one run. One table on stdout, words on stderr, everything by --json. Ends with 0 whatever
the figures are.
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

from echoes import Echoes  # noqa: E402
from house import House  # noqa: E402
from plan import Plan  # noqa: E402
from rows import generate  # noqa: E402
from table import table  # noqa: E402


def main() -> int:
    wanted = _arguments()
    signal.signal(signal.SIGTERM, _interrupt)
    plan = Plan.short() if wanted.short else Plan.full()
    for name in ("boards", "in_flight", "seconds", "rounds", "few", "stored"):
        if (value := getattr(wanted, name)) is not None:
            setattr(plan, name, value)
    plan.in_flight = min(plan.in_flight, plan.boards, plan.few)
    with tempfile.TemporaryDirectory(prefix="pa-", dir=wanted.folder) as name:
        folder = Path(name)
        try:
            figures = _measure(folder, wanted.programs.resolve(), plan)
        except (AssertionError, RuntimeError, OSError, subprocess.SubprocessError) as error:
            print(f"the benchmark did not work: {error}", file=sys.stderr)
            _show_logs(folder)
            return 1
    print(table(figures))
    print(_foot(plan), file=sys.stderr)
    if wanted.json:
        Path(wanted.json).write_text(json.dumps({
            "machine": _machine(), "plan": asdict(plan), "figures": figures}, indent=1) + "\n")
    return 0


def _measure(folder: Path, programs: Path, plan: Plan) -> dict:
    figures: dict = {"load": [], "echo": [], "stored": []}
    house = House(folder / "load", programs, plan)
    try:
        _say(f"{plan.boards} boards")
        with house.fleet(plan.boards) as fleet:
            figures["provisioned_per_second"] = plan.boards / fleet.seconds
            for number in range(plan.rounds):
                for mix in ("heartbeat", "refresh"):
                    figures["load"].append(fleet.load(mix) | {"round": number})
            figures["memory"] = house.memory()
        echoes = Echoes(folder, house)
        for number in range(plan.rounds):
            sizes = figures["load"][0]
            figures["echo"].append(echoes.turn(sizes, plan) | {"round": number})
    finally:
        house.close()
    house = House(folder / "stored", programs, plan)
    try:
        with house.fleet(plan.few) as fleet:
            _say(f"{plan.few} sessions stored")
            few = [fleet.load("heartbeat") for _ in range(plan.rounds)]
            house.stop()
            _say(f"making rows: {plan.stored} sessions stored")
            generate(house.database, plan.stored - plan.few)
            house.start()
            many = [fleet.load("heartbeat") for _ in range(plan.rounds + 1)][1:]
        figures["stored"] = [
            row | {"sessions": count} for count, rows in ((plan.few, few), (plan.stored, many))
            for row in rows]
        figures["memory_stored"] = house.memory()
    finally:
        house.close()
    return figures


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench-authority", description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=Path, help="the folder of the programs to measure")
    parser.add_argument("--json", metavar="FILE", help="where everything goes")
    parser.add_argument("--short", action="store_true", help="a small fleet, one round")
    parser.add_argument("--boards", type=int)
    parser.add_argument("--in-flight", type=int)
    parser.add_argument("--seconds", type=int, help="of each span of load")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--few", type=int, help="sessions, where few are stored")
    parser.add_argument("--stored", type=int, help="sessions, where many are stored")
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
