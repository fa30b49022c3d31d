"""A fleet on PostgreSQL, two authorities and a broker, each of them killed: `make fleet`.

    postern simulate (all boards) ─▶ mosquitto ◀─ two postern-authority ─▶ PostgreSQL
                                         └─▶ a consumer of all telemetry

    Tests/Fleet FOLDER-OF-PROGRAMS [--short] [--seed N] [--json FILE] [--keep]

It ends with the invariants, and with 0 only if all of them hold. Nothing is left behind.
"""

import argparse
import os
import secrets
import shutil
import signal
import sys
import tempfile
import traceback
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "Interop")]
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Besides its connections, what a program holds open.
_OTHER_FILES = 1000


def main() -> int:
    options = read_options()
    for name in _ENDINGS:
        signal.signal(name, end)
    folder = Path(tempfile.mkdtemp(prefix="fleet-"))
    # PostgreSQL runs as another user, and has to come through.
    folder.chmod(0o711)
    try:
        return run(options, folder)
    finally:
        if options.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def end(*_) -> None:
    """Once: what follows is the clearing away, which is bounded."""
    for name in _ENDINGS:
        signal.signal(name, signal.SIG_IGN)
    sys.exit(130)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fleet", description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=Path, help="the folder that the programs are in")
    parser.add_argument("--short", action="store_true", help="200 boards, about two minutes")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    parser.add_argument("--boards", type=int, help="10000, and 200 with --short")
    parser.add_argument("--store", choices=("postgres", "sqlite"), default="postgres",
                        help="sqlite: one authority, which has its records to itself")
    parser.add_argument("--phases", nargs="+", help="only these, for looking into one")
    parser.add_argument("--json", type=Path, help="where the results go, too")
    parser.add_argument("--keep", action="store_true", help="leave the folder with the logs")
    return parser.parse_args()


def run(options: argparse.Namespace, folder: Path) -> int:
    import phases
    import planted
    import report
    from bench.program import allow_files
    from fleet import Fleet, tell
    from plan import Plan

    plan = Plan.short(options.seed) if options.short else Plan.full(options.seed)
    plan = replace(plan, store=options.store, boards=options.boards or plan.boards)
    allow_files(plan.boards + _OTHER_FILES)
    tell(f"seed {plan.seed}, {plan.boards} boards")
    tell(f"✓ {planted.check()}")
    fleet = Fleet(plan, folder, options.programs.resolve())
    try:
        for phase in phases.ALL:
            if not options.phases or phase.__name__ in ("pair", "calm", *options.phases):
                phase(fleet)
        tell("… the boards come to an end")
        said = fleet.simulation.end(120 + 2 * plan.spread)
        return report.told(fleet, said, phases.judged(fleet, said), options.json)
    except Exception:
        traceback.print_exc()
        print(fleet.logs(), flush=True)
        return 1
    finally:
        fleet.close()


if __name__ == "__main__":
    sys.exit(main())
