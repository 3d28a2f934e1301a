"""What a deployment needs next, from what there is: a pure decision, as scheduling is. No clock, no process.

- New replicas come first where there is room, and an old one goes when a new one serves; where there is no room, an old
  one goes first, and requests wait.
- Replicas that hold devices are exchanged one at a time, others all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum


class State(Enum):
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"


@dataclass(frozen=True, slots=True)
class Seen:
    """A replica, as the decision sees it."""

    tag: str
    is_new: bool  # of the wanted version
    state: State


@dataclass(frozen=True, slots=True)
class Step:
    """What to do now. Then something happens, and the next step is decided."""

    start: int = 0
    stop: list[str] = field(default_factory=list)
    ask_room: bool = False  # find out whether there is room for one more, and decide again
    has_gap: bool = False  # the last one that serves goes before its successor is there


def next_step(wanted: int, replicas: Sequence[Seen], *, holds_devices: bool, room: bool | None) -> Step:
    """`room`: whether one more replica could start now; None if nobody has looked."""
    new = [each for each in replicas if each.is_new and each.state is not State.STOPPING]
    starting = [each for each in new if each.state is State.STARTING]
    running = [each for each in new if each.state is State.RUNNING]
    old = [each for each in replicas if not each.is_new and each.state is not State.STOPPING]
    old_running = [each for each in old if each.state is State.RUNNING]
    stop = [each.tag for each in old if each.state is State.STARTING]
    surplus = len(new) - wanted
    if surplus > 0:
        stop += [each.tag for each in [*starting, *reversed(running)]][:surplus]
    extra = len(running) + len(old_running) - max(wanted, 0)
    stop += [each.tag for each in old_running[: max(0, extra)]]
    missing = max(0, wanted - len(new))
    if not missing:
        return Step(stop=stop)
    leaving = any(each.state is State.STOPPING for each in replicas)
    if not old_running or not holds_devices:
        return Step(start=missing, stop=stop)
    if starting or stop or leaving:
        return Step(stop=stop)  # one at a time
    if room is None:
        return Step(ask_room=True)
    if room:
        return Step(start=1)
    return Step(stop=[old_running[0].tag], has_gap=len(old_running) + len(running) == 1)


def back_off_s(deaths: int) -> float:
    """How long to wait before the next start after so many deaths in a row."""
    return 0.0 if deaths <= 1 else min(10.0, 0.1 * 2.0 ** (deaths - 2))
