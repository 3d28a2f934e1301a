"""A worker whose connection to the head has closed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from nbaccel.local_engine.head.boot import make_arena


def test_a_worker_that_the_head_drops_before_its_first_task_prints_nothing() -> None:
    """As those that were starting for a node that was removed: users know nothing of them."""
    ours, theirs = socket.socketpair()
    ours.close()
    arena_fd = make_arena(1 << 20)
    try:
        with theirs:
            fds = (theirs.fileno(), arena_fd)
            command = [sys.executable, "-m", "nbaccel.local_engine.worker.main", *map(str, fds), os.urandom(28).hex()]
            done = subprocess.run(command, pass_fds=fds, capture_output=True, text=True, timeout=60)
    finally:
        os.close(arena_fd)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
