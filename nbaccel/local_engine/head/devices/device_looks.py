"""Single measurements of real devices: the head asks the prober and goes on; the answer arrives or times out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from nbaccel.accelerators import Device
from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.side_process import Helper
from nbaccel.local_engine.side_processes import prober

PATIENCE_S = 0.5  # NVML answers in a millisecond once it is loaded, and may never answer when a driver hangs
MOST_ASKED = 64  # of a prober that hangs
Seen = Callable[[list[DeviceReading] | None], None]  # None: no answer in time
Look = Callable[[list[Device], Seen], None]


class DeviceLooks:
    """The open questions to the prober. `learned` is called with each answer, in time or late."""

    def __init__(
        self,
        timers: LoopTimers,
        prober: Helper,
        *,
        learned: Callable[[Sequence[Device], Sequence[DeviceReading]], None],
        is_stopping: Callable[[], bool],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._timers = timers
        self._prober = prober
        self._learned = learned
        self._is_stopping = is_stopping
        self._patience_s = patience_s
        self._numbers = count(1)
        self._asked: dict[int, list[Device]] = {}  # also those whose answer is late
        self._waiting: dict[int, Seen] = {}

    def look(self, devices: list[Device], then: Seen) -> None:
        """Measure these devices once. `then` is called in time, with their metrics in order or with None."""
        number = next(self._numbers)
        self._asked[number], self._waiting[number] = devices, then
        if len(self._asked) > MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        self._prober.say(prober.encode(prober.Look(number, [device.to_dict() for device in devices])))
        self._timers.after(self._patience_s, lambda: self._answer(number, None))

    def came(self, report: prober.Looked) -> None:
        """Handle an answer of the prober; a late one still goes to `learned`."""
        metrics = [DeviceReading.from_dict(one) for one in report.metrics]
        self._learned(self._asked.pop(report.number, []), metrics)
        self._answer(report.number, metrics)

    def _answer(self, number: int, metrics: list[DeviceReading] | None) -> None:
        then = self._waiting.pop(number, None)
        if then is not None and not self._is_stopping():
            then(metrics)
