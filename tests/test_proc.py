"""What /proc says of processes."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from nbaccel import proc
from nbaccel.ray_engine import orphans


def test_a_process_shows_its_variables_also_while_its_program_begins() -> None:
    for attempt in range(40):
        with subprocess.Popen(["sleep", "600"], env={**os.environ, "NBACCEL_TEST_MARK": str(attempt)}) as started:
            variables = proc.environment(started.pid)  # one in three of these files was still empty
            started.kill()
        assert f"NBACCEL_TEST_MARK={attempt}".encode() in variables


def test_the_facts_of_a_process_name_it_and_its_parent() -> None:
    own = proc.stat(os.getpid())
    assert (own.parent, own.group, own.session) == (os.getppid(), os.getpgrp(), os.getsid(0))
    assert own.start_ticks > 0 and not own.has_ended


def test_a_name_with_spaces_and_parentheses_moves_no_field() -> None:
    with subprocess.Popen(["sh", "-c", "printf ') S 1 2 (' > /proc/$$/comm; read line"], stdin=subprocess.PIPE) as odd:
        while proc.name(odd.pid) != ") S 1 2 (":
            os.sched_yield()
        assert proc.stat(odd.pid).parent == os.getpid()
        odd.kill()


def test_a_name_that_is_no_text_hides_no_process() -> None:
    """A name is bytes, and the kernel cuts it after fifteen of them, also in the middle of a letter."""
    with subprocess.Popen(["sh", "-c", r"printf '\321x' > /proc/$$/comm; read line"], stdin=subprocess.PIPE) as odd:
        while not proc.name(odd.pid).endswith("x"):
            os.sched_yield()
        assert proc.stat(odd.pid).parent == os.getpid()
        assert odd.pid in orphans.children_of(os.getpid())
        odd.kill()


def test_a_zombie_has_ended() -> None:
    child = subprocess.Popen(["sleep", "600"])
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert proc.stat(child.pid).has_ended
    finally:
        child.wait()
    with pytest.raises(OSError):
        proc.stat(child.pid)
