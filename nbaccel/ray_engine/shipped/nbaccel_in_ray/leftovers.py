"""Device memory that a task leaves in a process that others will use: it is noted, reported and given back.

This is only for tasks on devices whose process goes on (max_calls=0 or more than one); by default Ray ends the process
after each. The frameworks in the process are asked when the user's code has ended. What they cannot tell is unknown.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from typing import Any

from nbaccel_in_ray import internals

# ---- a task's peak of device memory, as its framework reports it; nbaccel's reader reads it if the node has nbaccel


FRAMEWORKS = ("torch", "cupy", "jax")


def began() -> None:
    """Reset the peak, in a process that has used devices before."""
    known = reader()
    if known is not None:
        known.begin()


def peak_bytes() -> int | None:
    """The peak in bytes; None if no framework that reports it has opened a device, or the node has no nbaccel."""
    known = reader()
    if known is None:
        return None
    peak: int | None = known.measure(sys.maxsize).peak_bytes
    return peak


def reader() -> Any:
    """The module nbaccel.device_memory; None if it cannot report anything.

    It is imported only if a framework is loaded: a useless import would cost every task.
    """
    if not any(name in sys.modules for name in FRAMEWORKS):
        return None
    try:
        return importlib.import_module("nbaccel.device_memory")
    except ImportError:
        return None


# ----


WITHOUT_END = 1 << 30  # a number of calls that no process reaches; Ray counts, so that one can be told to stop
DEFAULT_THRESHOLD_BYTES = 256 << 20  # of each device: what frameworks tell is exact, however large it is
DEEPEST = 3

Note = dict[str, Any]


def judge(note: Note, threshold: int | None, passed: tuple[object, ...], error: BaseException | None) -> None:
    """Judge what is held after the code has ended; `passed` are its arguments and result, which live a little longer.

    `threshold`: bytes, None for 256 MiB of each device.
    """
    frameworks = reader()
    if frameworks is None:
        return
    if error is not None:
        traceback.clear_frames(error.__traceback__)  # the values in its frames would count as left behind
    if threshold is None:
        threshold = DEFAULT_THRESHOLD_BYTES * max(1, sum(map(len, note.get("devices", {}).values())))
    kept = frameworks.measure(threshold + _on_devices(passed)).held_bytes
    kept = None if kept is None else max(0, kept - _on_devices(passed))
    if kept is not None and kept > threshold:
        note["leak"] = _sentence(note, kept, frameworks.measure(sys.maxsize).why, can_end=end_process_after_task())
        sys.stderr.write(f"nbaccel: {note['leak']}\n")


def _sentence(note: Note, kept: int, cause: str, *, can_end: bool) -> str:
    devices = " and ".join(f"{family} {id}" for family, ids in note.get("devices", {}).items() for id in ids)
    then = "The process is replaced before the next task gets the device." if can_end else "Ray keeps the process."
    return (
        f"{note['name']} ended, but its process kept {_size(kept)} of the memory of {devices or 'its devices'}: "
        f"{cause}. {then} Leave out max_calls=0, or keep data that is to stay in an actor."
    )


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count >> 20} MiB"


def end_process_after_task() -> bool:
    """Have Ray end this process after the running task, as after the last of `max_calls`. Returns whether it will."""
    manager = internals.functions()
    try:
        with manager.lock:
            for id, info in list(manager._function_execution_info.items()):
                if info.max_calls:
                    manager._num_task_executions[id] = info.max_calls - 1
    except AttributeError:  # another version of Ray than the one this was written for
        return False
    return True


def _on_devices(values: object, deep: int = 0) -> int:
    """The bytes of device arrays among these values, and in lists, tuples and dicts of them."""
    if isinstance(values, dict):
        values = tuple(values.values())
    if isinstance(values, (list, tuple)):
        return sum(_on_devices(each, deep + 1) for each in values) if deep < DEEPEST else 0
    on_device = getattr(values, "is_cuda", False) or hasattr(type(values), "__cuda_array_interface__")
    return int(getattr(values, "nbytes", 0)) if on_device else 0
