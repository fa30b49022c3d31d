"""The server that other tests lean on: it starts, crashes, recovers, and leaves nothing."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from postgres_server import PostgresServer, postgres_server  # noqa: F401  (a fixture)


def test_it_keeps_what_was_committed_over_a_crash(postgres_server: PostgresServer):  # noqa: F811
    postgres_server.new_database("crash")
    postgres_server.query("CREATE TABLE kept AS SELECT 7 AS n", "crash")
    postgres_server.restart(immediate=True)
    assert postgres_server.query("SELECT n FROM kept", "crash") == "7"
    assert "ready to accept connections" in postgres_server.log


def test_it_ends_with_a_process_that_was_killed():
    script = "from postgres_server import PostgresServer as P; p = P(); " \
        "print(p.folder, p._keeper.pid, (p.data / 'postmaster.pid').read_text().split()[0], " \
        "flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-B", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, cwd=Path(__file__).parent)
    folder, keeper, postmaster = child.stdout.readline().split()
    descriptor = os.pidfd_open(int(keeper))
    child.send_signal(signal.SIGKILL)
    child.wait(20)
    child.stdin.close()
    child.stdout.close()
    # A descriptor of a process is readable once it has ended.
    assert select.select([descriptor], [], [], 30)[0], "the keeper did not end"
    os.close(descriptor)
    assert not Path(folder).exists()
    assert not Path(f"/proc/{postmaster}").exists()
