"""A person at a terminal: runs one command line, answers what it asks, and sees what it says."""

import os
import pty
import re
import select
import signal
import subprocess
import time

PATIENCE = 300
# What is read at once, and what of a terminal's own signs is not text.
PIECE = 65_536
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def typed(command: list[str], answers: dict[str, str], environment: dict[str, str],
          leave: str = "") -> str:
    """All that stood on the screen. Each answer is given to each question with its words in it.

    It fails when the command does, and when that asks what has no answer here: then nothing more
    comes until the patience ends. `leave`: at these words the person presses ^C.
    """
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "r+b", buffering=0) as screen:
        process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
            start_new_session=True, preexec_fn=lambda: _take_as_terminal())
        os.close(theirs)
        try:
            shown = _converse(screen, process, answers, leave)
        finally:
            process.kill()
            process.wait()
    ends = (0, 130, -signal.SIGINT) if leave and leave in shown else (0,)
    assert process.returncode in ends, f"{' '.join(command)}: {process.returncode}\n{shown}"
    return shown


def _take_as_terminal() -> None:
    """Opens the terminal that is standard input once more, which makes it the session's own. A
    shell starts what is in its background with ^C ignored, which all would inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.close(os.open(os.ttyname(0), os.O_RDWR))


def _converse(screen, process, answers: dict[str, str], leave: str) -> str:
    shown, answered, has_left = "", 0, False
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if not select.select([screen], [], [], 0.2)[0]:
            if process.poll() is not None:
                return shown
            continue
        try:
            piece = os.read(screen.fileno(), PIECE)
        except OSError:
            # The last of the terminal's users is gone.
            process.wait(PATIENCE)
            return shown
        shown += CONTROL.sub("", piece.decode(errors="replace")).replace("\r\n", "\n")
        if leave and leave in shown and not has_left:
            screen.write(b"\x03")
            has_left = True
        question = shown[answered:].rpartition("\n")[2]
        for words, answer in answers.items():
            if words in question:
                screen.write(f"{answer}\n".encode())
                answered = len(shown)
                break
    raise AssertionError(f"it asks or hangs:\n{shown}")
