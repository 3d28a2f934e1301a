"""Tasks that leave a trace in their process. Workers import this module: it needs no test library."""

from __future__ import annotations

import os

import nbaccel

traces: list[int] = []


def leave_trace() -> tuple[int, int]:
    """(pid, how many tasks have left a trace here before us)."""
    traces.append(1)
    return os.getpid(), len(traces) - 1


on_cpu = nbaccel.remote(leave_trace)
on_gpu = nbaccel.remote(num_gpus=1)(leave_trace)
reused_on_gpu = nbaccel.remote(num_gpus=1, max_calls=0)(leave_trace)
three_calls = nbaccel.remote(max_calls=3)(leave_trace)
three_calls_on_gpu = nbaccel.remote(num_gpus=1, max_calls=3)(leave_trace)
on_npu = nbaccel.remote(resources={"NPU": 0.5})(leave_trace)
