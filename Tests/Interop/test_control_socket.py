"""Other users of the board hold the agent's control socket; root is answered all the same."""

import os
import subprocess
import sys
import time

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures

pytestmark = pytest.mark.slow

# More users than places: each may have four connections, all of them sixteen.
USERS = range(61_001, 61_007)
HOLD = """
import os, socket, sys, time
path, user, group = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.setgroups([]), os.setgid(group), os.setuid(user)
held = []
while True:
    time.sleep(0.001)
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(1)
    try:
        one.connect(path)
    except OSError:
        continue
    held = [*held[-5:], one]
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")
def test_root_is_answered_while_others_hold_every_place(bench, tmp_path):
    bench.live()
    socket = next(bench.folder.rglob("agent.sock"))
    for folder in [socket.parent, *socket.parent.parents][:-1]:
        # What pytest makes is for its own user.
        if folder.is_relative_to(tmp_path) or tmp_path.is_relative_to(folder):
            folder.chmod(folder.stat().st_mode | 0o011)
    group = socket.stat().st_gid
    holders = [
        subprocess.Popen([sys.executable, "-c", HOLD, socket, str(user), str(group)],
                         stdin=subprocess.DEVNULL)
        for user in USERS
    ]
    try:
        time.sleep(1)
        waits = []
        for _ in range(10):
            asked = time.monotonic()
            assert bench.status()["session"]
            waits.append(time.monotonic() - asked)
        assert all(holder.poll() is None for holder in holders)
        print(f"slowest answer: {max(waits):.2f} s")
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()
