"""An authority, a board and an app of the board on this machine, to look at and to play with.

    python3 Devices/simulated/demo/tryout.py [--seconds N] BINARIES
"""

import argparse
import json
import shlex
import sys
import time
from pathlib import Path

import programs
from authority import ADMINISTRATOR, Authority
from board import Board
from progress import say, step, tail
from programs import StepFailed, write_private

_PACE = 2


def main() -> int:
    order = _arguments()
    try:
        with programs.temporary_folder("postern-try-") as folder:
            say(f"Postern on this machine, in {folder}\n")
            try:
                _start(folder, order.binaries)
            except StepFailed as failure:
                say(f"\n✗  {failure}")
                for log in failure.logs:
                    tail(log)
                return 1
            seconds = order.seconds or (None if sys.stdin.isatty() else 30)
            say("\nIt ends with ^C" + (f", or after {seconds:g} s." if seconds else "."))
            try:
                time.sleep(seconds or 1e9)
            except KeyboardInterrupt:
                say()
    except KeyboardInterrupt:
        say("\nstopped")
        return 130
    say("✓  all programs have ended, and the folder is removed")
    return 0


def _start(folder: Path, binaries: Path) -> None:
    authority = Authority(folder / "authority", binaries, None)
    board = Board(folder / "board", binaries, authority.broker, None)
    with step(1, "the authority starts, with its page and a broker of its own") as notes:
        authority.start()
        authority.login()
        notes.append(f"settings: {authority.config}/authority.toml")
    with step(2, "the board starts: its own broker, then postern-agent") as notes:
        board.start_broker()
        board.start_agent()
        notes += [f"settings: {board.config}/agent.toml",
                  f"broker:   {board.folder}/broker/mosquitto.conf",
                  f"rules:    {board.config}/policy.toml"]
    with step(3, "`postern-agent pair` shows a code, and `postern claim` pairs the board") as notes:
        url = json.loads(board.command("pair", "--json"))["url"]
        authority.command("claim", "-", stdin=url + "\n")
        board.wait_available()
        notes.append(f"see what both said: {authority.folder}/postern.log")
    with step(4, f"an app of the board writes a reading every {_PACE} seconds") as notes:
        board.vitals("run", "--every", _PACE)
        line = json.loads(authority.command("watch", "--json", "--count", "1"))
        notes.append(f"the first one has arrived: {line['payload'][:52]} …")
    _commands(folder, authority, board)


def _commands(folder: Path, authority: Authority, board: Board) -> None:
    """Writes the programs of the folder, which know their settings, and shows them."""
    answers = "-e postern/app/vitals/answers"
    app = Path(__file__).resolve().parents[2] / "packages" / "postern-agent-app"
    for name, line in {
        "postern": shlex.join(map(str, authority.command_line())) + ' "$@"',
        "postern-agent": shlex.join(map(str, board.agent.argv[:-1])) + ' "$@"',
        "send": f"XDG_CONFIG_HOME={shlex.quote(str(board.logins))} mosquitto_rr -V 5 -q 1 {answers}"
                ' -t "postern/app/vitals/$1" -m "$2"',
        "postern-agent-app": f'exec /bin/sh {shlex.quote(str(app))} "$@"',
    }.items():
        write_private(folder / name, f"#!/bin/sh\n{line}\n", 0o700)
    write_private(folder / "env", f"""\
export POSTERN_BUS=mqtt://127.0.0.1:{board.bus.port}
export CREDENTIALS_DIRECTORY={shlex.quote(str(board.logins))}
export PATH={shlex.quote(str(folder))}:"$PATH"
""")
    say(f"""
The page:  {authority.url}
           log in as {ADMINISTRATOR}; the password is in {authority.password_file}

In another terminal:

cd {folder}
./postern watch                                    # what arrives from the board
./send create/Reading '{{"celsius": 21.5}}'          # write as the app: it gets a number
./send create/Camera '{{"picture": 1}}'              # policy.toml refuses this one, and says why
./postern-agent doctor                             # is the board well?
. ./env                                            # now the programs of Devices/APPS.md run here

The programs' logs are {board.agent.log} and {authority.server.log}.""")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="try", description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float,
                        help="end after this time; without a terminal the default is 30")
    parser.add_argument("binaries", type=programs.binaries,
                        help="the folder with the three built programs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
