"""Shows Postern from end to end on one machine, with real programs and real brokers.

    python3 Devices/simulated/demo [--hold] BINARIES
"""

import argparse
import signal
import sys
import time
from pathlib import Path

import programs
from authority import Authority
from board import Board
from progress import say, tail
from recorder import Recorder
from report import conclude
from steps import Demo


def main() -> int:
    order = _arguments()
    begun = time.monotonic()
    try:
        with programs.temporary_folder("postern-demo-") as folder:
            say(f"Postern, end to end on this machine, in {folder}\n")
            demo = _prepare(folder, order.binaries)
            status = _run(demo)
            if order.hold:
                _hold(demo, folder / "captures")
    except KeyboardInterrupt:
        say("\nstopped")
        return 130
    if status == 0:
        say(f"\nDone in {time.monotonic() - begun:.1f} s; "
            "all programs have ended and the folder is gone.")
    return status


def _prepare(folder: Path, binaries: Path) -> Demo:
    captures = folder / "captures"
    captures.mkdir(mode=0o700)
    authority = Authority(folder / "authority", binaries, captures, preset="consumer")
    network = Recorder("the board's uplink", authority.broker.port, captures / "uplink.jsonl")
    return Demo(authority, Board(folder / "board", binaries, network, captures))


def _run(demo: Demo) -> int:
    try:
        demo.run()
        conclude(demo)
    except programs.StepFailed as failure:
        say(f"\n✗  {failure}")
        for log in failure.logs:
            tail(log)
        return 1
    return 0


def _hold(demo: Demo, captures: Path) -> None:
    """Keeps everything running until ^C, and shows how to look at it."""
    board, authority = demo.board, demo.authority
    agent = " ".join(map(str, board.agent.argv[:-1]))
    postern = " ".join(map(str, authority.command_line()))
    vitals = " ".join(map(str, board.vitals_command))
    say(f"""
Everything is still running. In another terminal:

agent='{agent}'
postern='{postern}'
vitals='{vitals}'

$agent status                          # the board's state
$agent pair --new | grep -o '[^ ]*#v=1[^ ]*' | $postern claim -    # claim it again
$vitals run --every 1                  # send readings, until ^C
$postern watch                         # see them arrive upstream
$postern sessions list
XDG_CONFIG_HOME={board.logins} mosquitto_sub -V 5 -v -t 'postern/#'
tail -f {board.agent.log} {authority.server.log}
ls {captures}    # every MQTT packet so far

^C here ends all programs and removes the folder.""")
    try:
        while True:
            signal.pause()
    except KeyboardInterrupt:
        say()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.split("\n\n")[0])
    parser.add_argument("--hold", action="store_true", help="keep everything running until ^C")
    parser.add_argument("binaries", type=programs.binaries,
                        help="the folder with the three built programs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
