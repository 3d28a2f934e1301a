"""Sends signals to the ranks of a gang: an interrupt, and the question where each function stands.

A worker answers the question with faulthandler, which writes the stack of the main thread into a file inside the signal
handler, even while C code runs and holds the interpreter's lock.

```
  driver ── WHERE ──► worker: stack ──► file ──► driver       on another machine a small task there does both
```
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import nbaccel
from nbaccel.handles.internal_work import internal_task
from nbaccel.train.ranks import Facts, Seat
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from nbaccel.views import sinks

# A real-time signal: SIGUSR1 and SIGUSR2 belong to what users and their libraries do.
WHERE = signal.SIGRTMIN + 7 if hasattr(signal, "SIGRTMIN") else signal.SIGUSR2
_PATIENCE_S = 2.0
_tgkill = getattr(ctypes.CDLL(None), "tgkill", None)  # the GNU C library's since 2.30; macOS has none
# As faulthandler writes it, or with a comma, as a traceback does.
FRAME = re.compile(r'File "(?P<file>.*)", line (?P<line>\d+|\?\?\?),? in (?P<name>.*)')
_WAITS_IN = {
    "all_reduce": "all_reduce",
    "broadcast": "broadcast",
    "barrier": "barrier",
    "all_gather": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "meet": "train.collective",
}


def stack_file(run_folder: str, rank: int) -> Path:
    """The file into which a worker writes its stack."""
    return Path(run_folder) / f".where-{rank}"


def interrupt(seats: Sequence[Seat]) -> None:
    """Raise KeyboardInterrupt in these workers' functions."""
    _everywhere([seat.facts for seat in seats], _send_interrupt)


def where(seats: Sequence[Seat]) -> list[str]:
    """The stack of each of these workers' functions, innermost frame first; "" for one that does not answer."""
    paths = {seat.facts.pid: stack_file(seat.facts.folder, seat.rank) for seat in seats}
    return _everywhere([seat.facts for seat in seats], partial(_stack_in, paths))


def _everywhere(facts: Sequence[Facts], what: Callable[[int], str]) -> list[str]:
    here = socket.gethostname()
    ask = internal_task(what, num_cpus=0, max_retries=0)
    asked = {
        number: ask.options(scheduling_strategy=NodeAffinitySchedulingStrategy(each.node_id, soft=False)).remote(
            each.pid
        )
        for number, each in enumerate(facts)
        if each.host != here
    }
    return [nbaccel.get(asked[number]) if number in asked else what(each.pid) for number, each in enumerate(facts)]


def _send_interrupt(pid: int) -> str:
    send_signal(pid, signal.SIGINT)
    return ""


def send_signal(pid: int, number: int) -> bool:
    """Signal the main thread of a process; False if there is none.

    The system gives a signal for the whole process to another thread if the main one has yet to take an earlier signal.
    """
    if _tgkill is None:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True
    sent: int = _tgkill(pid, pid, number)
    return sent == 0


def _stack_in(paths: dict[int, Path], pid: int) -> str:
    path = paths[pid]
    try:
        start = path.stat().st_size
    except OSError:
        return ""  # its function has not begun, or has ended
    if not send_signal(pid, WHERE):
        return ""
    return _text_after(path, start)


def _text_after(path: Path, start: int) -> str:
    """The text that is written to the file from this position on, once its last line is whole."""
    deadline = time.monotonic() + _PATIENCE_S
    text = ""
    while time.monotonic() < deadline:
        try:
            with open(path, errors="replace") as file:
                file.seek(start)
                found = file.read()
        except OSError:
            return text
        if found and found == text and found.endswith("\n"):
            return text
        text = found
        time.sleep(0.01)
    return text


def standing(stack: str) -> str:
    """Where a function stands, in words: "waits in all_reduce (train.py line 31)", or "(cell [7] line 31)" of a
    notebook; "" for no stack.
    """
    frames = [found for line in stack.splitlines() if (found := FRAME.search(line))]
    if not frames:
        return ""
    own = next((each for each in frames if _is_users(each["file"])), frames[0])
    place = sinks.installed.place(own["file"], own["line"])
    outer = frames.index(own)
    for each in frames[:outer]:
        if each["name"] in _WAITS_IN:
            return f"waits in {_WAITS_IN[each['name']]} ({place})"
    return f"is in {own['name']} ({place})"


def is_waiting(standing: str) -> bool:
    """Whether these words of `standing` are of a rank that waits for others."""
    return standing.startswith("waits in ")


def _is_users(file: str) -> bool:
    return "site-packages" not in file and "/nbaccel/" not in file and "lib/python" not in file
