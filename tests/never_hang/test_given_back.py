"""A device comes back at once when its task is cancelled, fails, is killed, or its idle process is recycled."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel.exceptions import RayError
from tests.census import Place
from tests.never_hang.clusters import wait_until_free
from tests.rig import is_alive, wait_until


@nbaccel.remote(num_gpus=2, max_retries=0)
def hold(pid_file: str, how: str) -> None:
    """Says its pid, then goes the way that it is told."""
    Path(pid_file + ".new").write_text(str(os.getpid()))
    os.rename(pid_file + ".new", pid_file)
    if how == "raise":
        raise ValueError("on purpose")
    while True:
        signal.pause()


def _kill(ref: Any, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


ENDS: dict[str, Callable[[Any, int], None]] = {
    "cancelled": lambda ref, pid: nbaccel.cancel(ref),
    "cancelled by force": lambda ref, pid: nbaccel.cancel(ref, force=True),
    "killed": _kill,
    "raise": lambda ref, pid: None,
}


@pytest.mark.parametrize("how", ENDS)
def test_the_next_task_gets_the_device_in_another_process(two_a100: Place, tmp_path: Path, how: str) -> None:
    wait_until_free()
    pid_file = tmp_path / "pid"
    ref = hold.remote(str(pid_file), how)
    after = nbaccel.remote(num_gpus=2)(os.getpid).remote()
    wait_until(pid_file.exists, "the task to run")
    pid = int(pid_file.read_text())
    ENDS[how](ref, pid)
    with pytest.raises((RayError, ValueError)):
        nbaccel.get(ref)
    assert nbaccel.get(after) != pid
    assert not is_alive(pid), "the memory of its device comes back with the end of the process"


def test_recycling_ends_the_idle_processes_that_ran_code(two_a100: Place) -> None:
    wait_until_free()
    f = nbaccel.remote(num_gpus=1, max_calls=0)(os.getpid)

    def pid_of_two() -> int:
        pid = nbaccel.get(f.remote())
        return pid if nbaccel.get(f.remote()) == pid else 0

    def recycled() -> int:
        nbaccel.get(f.remote())
        wait_until_free()
        return nbaccel.recycle()

    # A process that has been idle for five seconds ends by itself, and the machine may stand still for so long.
    pid = wait_until(pid_of_two, "two tasks in one process")
    wait_until(recycled, "an idle process to be ended")
    wait_until(lambda: not is_alive(pid), "the process to leave")
    assert nbaccel.get(f.remote()) != pid
