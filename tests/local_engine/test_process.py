"""What the kernel says of processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from nbaccel.local_engine import process
from tests.rig import wait_until


def test_a_child_and_its_child_descend_from_us_and_nobody_else_does() -> None:
    code = "import subprocess, sys; p = subprocess.Popen(['cat'], stdin=0); print(p.pid, flush=True); p.wait()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    grandchild = int(child.stdout.readline())
    assert process.descends_from(child.pid, os.getpid())
    assert process.descends_from(grandchild, os.getpid())
    for stranger in (os.getpid(), os.getppid(), 1, 0, -5, 2**22 + 1, 2**40):
        assert not process.descends_from(stranger, os.getpid())
    child.communicate()
    assert not process.descends_from(child.pid, os.getpid())


def test_every_process_with_the_mark_is_killed() -> None:
    mark = str(os.getpid())
    with subprocess.Popen(["sleep", "600"], env={**os.environ, "NBACCEL_TEST_MARK": mark}) as started:
        environ = Path(f"/proc/{started.pid}/environ")
        wait_until(lambda: b"NBACCEL_TEST_MARK" in environ.read_bytes(), "its environment")  # late in its exec
        process.kill_marked("NBACCEL_TEST_MARK", mark)
        assert started.wait() == -signal.SIGKILL
