"""What a deployment needs next, and how many replicas it wants: pure decisions, as scheduling is. No process, no clock.

- New replicas come first where there is room, and an old one goes when a new one serves; where there is no room, an old
  one goes first, and requests wait.
- Replicas that hold devices are exchanged one at a time, others all at once.
- The number grows with what is under way, and shrinks later. The time is an argument.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from nbaccel.serve.records import AutoscalingConfig


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


class Scaler:
    """Grows when the demand has lasted for `upscale_delay_s`, shrinks after `downscale_delay_s`."""

    def __init__(self, config: AutoscalingConfig, replicas: int) -> None:
        self.config = config
        self.replicas = replicas  # that are wanted now
        self._more_since: float | None = None
        self._less_since: float | None = None
        self._most = 0  # the largest wish since it has been less

    def wish(self, demand: float) -> int:
        """For so many requests, under way and queued."""
        wanted = math.ceil(demand / self.config.target_ongoing_requests)
        return max(1, self.config.min_replicas, min(self.config.max_replicas, wanted))

    def look(self, demand: float, now: float) -> int:
        """The number that is wanted from now on; the caller sets `replicas` if it can be had."""
        wish = self.wish(demand)
        if wish > self.replicas:
            self._less_since = None
            self._more_since = now if self._more_since is None else self._more_since
            return wish if now - self._more_since >= self.config.upscale_delay_s else self.replicas
        self._more_since = None
        if wish == self.replicas:
            self._less_since = None
            return self.replicas
        if self._less_since is None:
            self._less_since, self._most = now, 0
        self._most = max(self._most, wish)
        if now - self._less_since < self.config.downscale_delay_s:
            return self.replicas
        self._less_since = None
        return self._most
