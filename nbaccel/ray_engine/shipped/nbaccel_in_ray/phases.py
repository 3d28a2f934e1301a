"""When the phases of tasks began and ended, as Ray measures them.

Each worker sends its measurements to Ray's head once a second, so a task that has just ended has none yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbaccel_in_ray import internals

_PHASES = ("task:deserialize_arguments", "task:execute", "task:store_outputs")
_NANOSECOND = 1e-9


def phases() -> dict[str, list[float]]:
    """For the last attempt of each task: the Unix seconds at which its phases begin, and the end of the last one."""
    found = sorted(internals.task_events(), key=lambda each: each.attempt_number)
    return {each.task_id.hex(): times(each.profile_events.events) for each in found}


def times(events: Iterable[Any]) -> list[float]:
    """The same for one attempt: the phases that it reached, [] if none is known yet."""
    told = {event.event_name: event for event in events}
    there = []
    for phase in _PHASES:
        if phase not in told:
            break  # one that comes later was told first
        there.append(told[phase])
    return [event.start_time * _NANOSECOND for event in there] + [event.end_time * _NANOSECOND for event in there[-1:]]
