"""How much device memory this process uses, as reported by the frameworks that it has loaded. This loads none.

A framework that has not opened a device yet is not asked, because the question would open one. The figures count the
memory that a framework has taken from the device (its pool). They do not count the few hundred MiB of the driver's own
context, which only the end of the process gives back.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

DEFAULT_THRESHOLD_BYTES = 256 << 20  # of each device: libraries keep workspaces, of 32 MiB for a stream on Hopper


class Reading(NamedTuple):
    """The figures of one framework; `peak_bytes` is None if the framework does not count it."""

    held_bytes: int
    peak_bytes: int | None


class MemoryReport(NamedTuple):
    """All frameworks together.

    held_bytes  the memory that the process still has; None: no framework that reports it has opened a device
    peak_bytes  the most memory that it had since `begin`; None: unknown
    why         what uses the memory, or why the figures are unknown
    """

    held_bytes: int | None
    peak_bytes: int | None
    why: str


class _Framework(NamedTuple):
    name: str
    module: str
    read: Callable[[Any], Reading | None]  # None: it has opened no device
    give_back: Callable[[Any], None]  # the memory that it keeps without need
    forget_peak: Callable[[Any], None]
    cause: str


def begin() -> None:
    """Reset the peaks at the start of a task."""
    for framework, module in _loaded():
        try:
            if framework.read(module) is not None:
                framework.forget_peak(module)
        except Exception:  # a framework's own trouble is not the task's; `measure` will name it
            continue


def measure(threshold_bytes: int = DEFAULT_THRESHOLD_BYTES) -> MemoryReport:
    """Measure the memory in use. Above the threshold, release garbage and unused pools, then measure again."""
    report = _report()
    if report.held_bytes is None or report.held_bytes <= threshold_bytes:
        return report
    gc.collect()  # cycles hold tensors until the collector runs
    for framework, module in _loaded():
        try:
            if framework.read(module) is not None:
                framework.give_back(module)
        except Exception:  # as above: the next reading names it
            continue
    return _report()._replace(peak_bytes=report.peak_bytes)


def _report() -> MemoryReport:
    held, peak, peak_known, causes, troubles = 0, 0, True, [], []
    for framework, module in _loaded():
        try:
            reading = framework.read(module)
        except Exception as error:  # vendors' errors share no class
            troubles.append(f"{framework.name} could not be asked ({type(error).__name__}: {error})")
            continue
        if reading is None:
            continue
        causes.append((reading.held_bytes, framework.cause))
        held += reading.held_bytes
        peak_known &= reading.peak_bytes is not None
        peak += reading.peak_bytes or 0
    if not causes:
        names = ", ".join(framework.name for framework in _FRAMEWORKS)
        reason = f"none of the frameworks that tell ({names}) has opened a device in its process"
        return MemoryReport(None, None, " and ".join(troubles) or reason)
    cause = max(causes)[1] if held else ""
    return MemoryReport(held, peak if peak_known else None, cause)


def _loaded() -> Iterator[tuple[_Framework, Any]]:
    for framework in _FRAMEWORKS:
        module = sys.modules.get(framework.module)
        if module is not None:
            yield framework, module


# --- torch (cuda is also AMD's; xpu is Intel's) --------------------------------------------------------------------


def _torch_devices(torch: Any) -> Iterator[Any]:
    for name in ("cuda", "xpu"):
        devices = getattr(torch, name, None)
        if devices is not None and devices.is_initialized():
            yield devices


def _read_torch(torch: Any) -> Reading | None:
    opened = list(_torch_devices(torch))
    if not opened:
        return None
    held = sum(devices.memory_reserved(index) for devices in opened for index in range(devices.device_count()))
    peak = sum(devices.max_memory_reserved(index) for devices in opened for index in range(devices.device_count()))
    return Reading(held, peak)


def _empty_torch(torch: Any) -> None:
    for devices in _torch_devices(torch):
        devices.empty_cache()


def _forget_torch(torch: Any) -> None:
    for devices in _torch_devices(torch):
        for index in range(devices.device_count()):
            devices.reset_peak_memory_stats(index)


# --- cupy ----------------------------------------------------------------------------------------------------------


def _read_cupy(cupy: Any) -> Reading | None:
    # A pool that has given out nothing belongs to a process that may not have opened a device.
    held = cupy.get_default_memory_pool().total_bytes()
    return Reading(held, None) if held else None


def _empty_cupy(cupy: Any) -> None:
    cupy.get_default_memory_pool().free_all_blocks()


def _nothing(module: Any) -> None:
    """For what a framework cannot do."""


# --- JAX -----------------------------------------------------------------------------------------------------------


def _read_jax(bridge: Any) -> Reading | None:
    if not bridge.backends_are_initialized():
        return None
    devices = [device for device in sys.modules["jax"].local_devices() if device.platform != "cpu"]
    stats = [device.memory_stats() or {} for device in devices]
    if not devices or not all("bytes_in_use" in each for each in stats):
        return None
    held = sum(each.get("pool_bytes", each["bytes_in_use"]) for each in stats)
    peaks = [each.get("peak_pool_bytes", each.get("peak_bytes_in_use")) for each in stats]
    known = [peak for peak in peaks if peak is not None]
    return Reading(held, sum(known) if len(known) == len(peaks) else None)


_FRAMEWORKS = (
    _Framework("torch", "torch", _read_torch, _empty_torch, _forget_torch,
               "torch tensors that something still refers to: a global variable, a cache, a model kept in a module"),
    _Framework("cupy", "cupy", _read_cupy, _empty_cupy, _nothing,
               "cupy arrays that something still refers to: a global variable or a cache"),
    # The bridge is private to JAX, but the only place that says whether asking for devices would open them.
    _Framework("jax", "jax._src.xla_bridge", _read_jax, _nothing, _nothing,
               "the pool that JAX takes when it opens a device and keeps until its process ends "
               "(XLA_PYTHON_CLIENT_PREALLOCATE=false makes it take what it needs)"),
)  # fmt: skip
