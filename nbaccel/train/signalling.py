"""Sends signals to the ranks of a gang: an interrupt, and the question where each function stands (`nbaccel.stacks`).

On another machine a small task does it.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Sequence

import nbaccel
from nbaccel import stacks
from nbaccel.handles.internal_work import internal_task
from nbaccel.train.ranks import Facts, Seat
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from nbaccel.views import sinks
from nbaccel.views.stack_text import FRAME, is_ours, is_users

_WAITS_IN = {
    "all_reduce": "all_reduce",
    "broadcast": "broadcast",
    "barrier": "barrier",
    "all_gather": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "meet": "train.collective",
}


def interrupt(seats: Sequence[Seat]) -> None:
    """Raise KeyboardInterrupt in these workers' functions."""
    _everywhere([seat.facts for seat in seats], _send_interrupt)


def where(seats: Sequence[Seat]) -> list[str]:
    """The stack of each of these workers' functions, innermost frame first; "" for one that does not answer."""
    return _everywhere([seat.facts for seat in seats], stacks.of)


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
    stacks.send_signal(pid, signal.SIGINT)
    return ""


def standing(stack: str) -> str:
    """Where a function stands, in words: "waits in all_reduce (train.py line 31)", or "(cell [7] line 31)" of a
    notebook; "" for no stack.
    """
    frames = [found for line in stack.splitlines() if (found := FRAME.search(line))]
    called = [each for each in frames if not is_ours(each["file"])]
    if not called:
        return ""  # its function has not begun, or has ended
    own = next((each for each in called if is_users(each["file"])), called[0])
    place = sinks.installed.place(own["file"], own["line"])
    outer = frames.index(own)
    for each in frames[:outer]:
        if each["name"] in _WAITS_IN:
            return f"waits in {_WAITS_IN[each['name']]} ({place})"
    return f"is in {own['name']} ({place})"


def is_waiting(standing: str) -> bool:
    """Whether these words of `standing` are of a rank that waits for others."""
    return standing.startswith("waits in ")
