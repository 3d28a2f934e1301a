"""An interrupt that is only noted, as Ray's cancel does, reaches a main thread that sleeps or waits for a lock."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nbaccel.ray_engine import rays

PROGRAM = """
import _thread, signal, sys, threading, time
sys.path.insert(0, {folder!r})
import interrupting
signal.signal(signal.SIGINT, {before})
interrupting.install()
try:
    threading.Timer(0.1, _thread.interrupt_main).start()
    {blocks}
except KeyboardInterrupt:
    print("interrupted")
print(signal.getsignal(interrupting.WAKE) is not signal.SIG_DFL)
"""

LOCK = "lock = threading.Lock(); lock.acquire(); lock.acquire()"


@pytest.mark.parametrize("before", ["signal.default_int_handler", "signal.SIG_IGN"], ids=["alone", "after a shell's &"])
@pytest.mark.parametrize("blocks", ["time.sleep(600)", LOCK, "threading.Event().wait()"])
def test_it_is_heard_at_once(blocks, before):
    program = PROGRAM.format(folder=str(rays.PACKAGE), blocks=blocks, before=before)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["interrupted", "True"]


def test_a_program_that_uses_the_signals_itself_is_left_alone():
    program = (
        "import signal, socket, sys\n"
        f"sys.path.insert(0, {str(rays.PACKAGE)!r})\n"
        "import interrupting\n"
        "mine = socket.socketpair()\n"
        "mine[1].setblocking(False)\n"
        "signal.set_wakeup_fd(mine[1].fileno())\n"
        "interrupting.install()\n"
        "print(signal.set_wakeup_fd(-1) == mine[1].fileno(), signal.getsignal(signal.SIGURG) is signal.SIG_DFL)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True", "True"]
