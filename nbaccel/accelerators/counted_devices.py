"""A hint for CUDA code in a task whose GPU is only counted, as on a laptop without one."""

from __future__ import annotations

import linecache
import os
import re

# What libraries write where there is no card or no driver: torch (also one for CPUs), CUDA's runtime, CuPy, Numba, JAX.
_WORDS = re.compile(r"(?<![a-z])cuda|nvidia driver|backend: 'gpu'", re.IGNORECASE)
_NODES = ("/dev/nvidiactl", "/dev/dxg")


def hint(error: BaseException, nodes: tuple[str, ...] = _NODES) -> str:
    """A sentence for an error of CUDA code in a task that holds a GPU, on a machine without one; "" for any other.

    >>> hint(AssertionError("Torch not compiled with CUDA enabled"), ())[:38]
    'The GPU of this task is only counted: '
    """
    if any(map(os.path.exists, nodes)):
        return ""
    if not _WORDS.search(str(error) or _line_of_assert(error)):
        return ""
    return (
        "The GPU of this task is only counted: this machine has none. For code that runs on both, choose the device by "
        "torch.cuda.is_available() (in nbaccel.train: train.torch.get_device()), or ask for a CPU version by "
        "fallback='cpu'."
    )


def _line_of_assert(error: BaseException) -> str:
    """The source line of an `assert` without words, such as `assert torch.cuda.is_available()`; "" for other errors."""
    trace = error.__traceback__ if isinstance(error, AssertionError) else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace is not None else ""
