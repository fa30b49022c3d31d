"""The shell completes boards, sessions and users, as the packages' scripts ask for them."""

import os
import shutil
import subprocess

import pytest

from authority_fixtures import bench  # noqa: F401, a fixture
from bench.program import free_port
from bench.waiting import until

SCRIPT = """
    postern() { "$PROGRAM" "$@"; }
    source /dev/stdin
    COMP_LINE="postern $1" COMP_WORDS=(postern $1) COMP_POINT=${#COMP_LINE}
    case "$1" in *" ") COMP_WORDS+=("") ;; esac
    COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    function=$(complete -p postern | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    "$function" postern "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
    printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(bench, line: str, **environment) -> tuple[list[str], str]:
    """The words that bash offers at the end of `postern LINE`, and all of stderr."""
    program = str(bench.programs / "postern")
    script = subprocess.run([program, "--generate-completion-script", "bash"],
                            check=True, stdout=subprocess.PIPE).stdout
    done = subprocess.run(
        ["bash", "-c", SCRIPT, "bash", line], input=script, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=30,
        env=os.environ | bench._environment | {"PROGRAM": program} | environment)
    return done.stdout.decode().split(), done.stderr.decode()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_offers_boards_sessions_and_users(bench):
    board = bench.live_board("greenhouse")
    assert_offered(bench, "boards release ", "greenhouse")
    assert_offered(bench, f"boards release {board.iid[:5]}", board.iid)
    assert_offered(bench, "watch --board gre", "greenhouse")
    assert_offered(bench, "users allow ", "ada")
    assert_offered(bench, "users allow ada ", "claim")
    until(lambda: "greenhouse" in offered(bench, "sessions show ")[0], "the board's name")


def assert_offered(bench, line: str, *words: str) -> None:
    """Nobody waits for words longer than 2 s: an authority that is late offers none."""
    told = until(lambda: (told := offered(bench, line))[0] and told, f"words after {line!r}")
    assert told == (list(words), "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_nothing_is_offered_without_a_login_or_an_authority(bench, tmp_path):
    assert offered(bench, "boards release ", XDG_CONFIG_HOME=str(tmp_path)) == ([], "")
    away = f"http://127.0.0.1:{free_port()}"
    assert offered(bench, "boards release ", POSTERN_AUTHORITY=away) == ([], "")
