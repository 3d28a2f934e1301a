"""Device memory that a worker's process still uses after a task."""

from __future__ import annotations

import sys

from nbaccel import device_memory
from nbaccel.local_engine import wire
from nbaccel.scheduling.terms import Terms


def report_memory(done: wire.Done, terms: Terms, setup: wire.Setup | None) -> None:
    """Report the device memory that frameworks of this process use, after the task's own values are gone."""
    threshold = setup.leak_threshold if setup is not None else None
    if threshold is None:
        threshold = device_memory.DEFAULT_THRESHOLD_BYTES
    # If the process ends after its task, memory that is still held does not matter.
    report = device_memory.measure(threshold if terms.max_calls != 1 else sys.maxsize)
    done.memory_why = report.why
    done.memory = -1 if report.held_bytes is None else report.held_bytes
    done.peak = -1 if report.peak_bytes is None else report.peak_bytes
