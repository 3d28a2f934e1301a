"""A device that is held for minutes and not used is named, whichever engine measures it."""

from __future__ import annotations

from nbaccel.views.snapshot import Holder
from nbaccel.views.unused_devices import IDLE_S, LONGEST_GAP_S, HeldDevice, UnusedDevices


def device(percent: float | None, task: str = "a1", key: str = "n/GPU/0") -> HeldDevice:
    return HeldDevice(key, "GPU 0 of box", "0", [Holder("train", 1.0, task, cell="[3] line 1")], percent)


def looked(
    unused: UnusedDevices, seen: list[HeldDevice], times: int, every_s: float = 30.0, start: float = 0.0
) -> float:
    for number in range(times):
        unused.saw(seen, start + number * every_s)
    return start + times * every_s


def test_it_is_said_once_and_goes_with_its_use_or_its_holder() -> None:
    for after in ([device(50.0)], [device(0.0, "b2")], [], [device(None)]):
        unused = UnusedDevices()
        now = looked(unused, [device(0.0)], int(IDLE_S / 30))
        assert unused.alerts() == []
        looked(unused, [device(0.0)], 2, start=now)
        (alert,) = unused.alerts()
        assert alert.message.startswith("GPU 0 of box has been held by train (cell [3] line 1) for 5 minutes without")
        unused.saw([device(0.0)], now + 60.0)
        assert unused.alerts() == [alert]
        unused.saw(after, now + 90.0)
        assert unused.alerts() == []


def test_of_a_time_in_which_nobody_looked_nothing_is_said() -> None:
    unused = UnusedDevices()
    unused.saw([device(0.0)], 0.0)
    unused.saw([device(0.0)], IDLE_S + LONGEST_GAP_S)
    assert unused.alerts() == []


def test_a_look_that_brought_no_answer_of_a_device_changes_nothing() -> None:
    unused, silent = UnusedDevices(), device(None)
    silent.is_measured = False
    now = looked(unused, [silent], 3)
    now = looked(unused, [device(0.0)], 9, start=now)
    unused.saw([silent], now)
    looked(unused, [device(0.0)], 2, start=now + 30.0)
    assert len(unused.alerts()) == 1
    unused.saw([silent], now + 90.0)
    assert len(unused.alerts()) == 1
