"""Whose stack answers the question where a function stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nbaccel.train import signalling

PROGRAM = """
import faulthandler, signal, sys, threading
from nbaccel.train import signalling

file = open(sys.argv[1], "w")
faulthandler.register(signalling.WHERE, file=file, all_threads=False)

def of_another_thread():
    threading.Event().wait()

threading.Thread(target=of_another_thread, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signalling.WHERE])

def of_the_main_thread():
    print("ready", flush=True)
    sys.stdin.readline()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signalling.WHERE])

of_the_main_thread()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can signal a thread of another process")
def test_the_main_thread_is_asked_also_if_another_one_could_take_the_signal_first(tmp_path: Path) -> None:
    path = tmp_path / "stack"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as asked:
        assert asked.stdout is not None and asked.stdout.readline() == "ready\n"
        assert signalling.send_signal(asked.pid, signalling.WHERE)
        asked.communicate("\n")
    assert "in of_the_main_thread" in path.read_text() and "of_another_thread" not in path.read_text()


def test_of_a_process_that_has_ended_nobody_is_asked() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    assert not signalling.send_signal(ended.pid, signalling.WHERE)
