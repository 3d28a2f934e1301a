"""The last two minutes of each device's load, memory and power, in steps of two seconds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import msgspec

from nbaccel.views.history.answers import ReadingsAnswer

KEPT_S = 120.0
STEP_S = 2.0
STEPS = round(KEPT_S / STEP_S)
MOST_DEVICES = 4_096
MOST_BYTES = 31_000  # of an answer
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
UNKNOWN = 255  # in the memory of a device; "." in an answer
LEVELS = len(LETTERS) - 1


class DeviceLoad(msgspec.Struct, frozen=True):
    """One measurement of a device; None is unknown."""

    device: str
    utilisation_percent: float | None
    memory_share: float | None
    power_watts: float | None


class Readings:
    """A ring of steps for each device; a byte for each value."""

    def __init__(self, origin: float) -> None:
        self._origin = origin
        self._step = -1  # the newest
        self._rows: dict[str, tuple[bytearray, bytearray, bytearray]] = {}
        self._watts = 100.0  # the top of the scale of power

    def add(self, now: float, readings: Sequence[DeviceLoad]) -> None:
        """Add a measurement; the last one of a step counts."""
        self._turn(int((now - self._origin) / STEP_S))
        for reading in readings:
            row = self._rows.get(reading.device)
            if row is None:
                if len(self._rows) >= MOST_DEVICES:
                    continue
                row = self._rows[reading.device] = (_nothing(), _nothing(), _nothing())
            self._rescale(reading.power_watts or 0.0)
            at = self._step % STEPS
            row[0][at] = _level(reading.utilisation_percent, 100.0)
            row[1][at] = _level(reading.memory_share, 1.0)
            row[2][at] = _level(reading.power_watts, self._watts)

    def _turn(self, step: int) -> None:
        """Begin a new step, in the place of the step of two minutes ago."""
        for passed in range(max(self._step + 1, step - STEPS + 1), step + 1):
            for row in self._rows.values():
                for values in row:
                    values[passed % STEPS] = UNKNOWN
        self._step = max(self._step, step)

    def _rescale(self, watts: float) -> None:
        """Double the scale of power, which has no known maximum, and adapt the stored values."""
        while watts > self._watts:
            self._watts *= 2
            for _, _, power in self._rows.values():
                power[:] = bytes(value if value == UNKNOWN else value // 2 for value in power)

    def answer(self, now: float, since: int) -> ReadingsAnswer:
        """The finished steps from `since` on. With many devices there are fewer steps, each for several stored ones."""
        self._turn(int((now - self._origin) / STEP_S))
        devices = list(self._rows)
        stride = 1
        prefix = _common_start(devices)
        suffixes = [name.removeprefix(prefix) for name in devices]
        room = MOST_BYTES - sum(len(name) + 3 for name in suffixes)
        while 3 * len(devices) * (STEPS // stride) > room and stride < STEPS:
            stride *= 2
        first = max(-(-since // stride), -(-(self._step - STEPS + 1) // stride), 0)
        last = self._step // stride  # which has only begun
        texts = [
            "".join(
                self._letter(self._rows[device][part], step, stride)
                for device in devices
                for step in range(first, last)
            )
            for part in range(3)
        ]
        step_s, steps = STEP_S * stride, max(last - first, 0)
        return ReadingsAnswer(
            last * stride, step_s, now, self._origin, step_s, first, steps, self._watts, prefix, suffixes, *texts
        )

    def _letter(self, values: bytearray, step: int, stride: int) -> str:
        """The letter for several steps: that of the highest value."""
        known = [
            value
            for at in range(step * stride, (step + 1) * stride)
            if at > self._step - STEPS and (value := values[at % STEPS]) != UNKNOWN
        ]
        return LETTERS[max(known)] if known else "."


def _common_start(names: Sequence[str]) -> str:
    """The common prefix of all names: that of the first and the last one in sorted order."""
    first, last = min(names, default=""), max(names, default="")
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(letter for letter, _ in same)


def _nothing() -> bytearray:
    return bytearray([UNKNOWN]) * STEPS


def _level(value: float | None, top: float) -> int:
    return UNKNOWN if value is None else round(min(max(value / top, 0.0), 1.0) * LEVELS)
