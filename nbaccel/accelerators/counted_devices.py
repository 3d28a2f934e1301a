"""A hint for CUDA code in a task whose GPU is only counted, as on a laptop without one."""

from __future__ import annotations

import os

# What libraries say where there is no card or no driver: torch (also built for CPUs), CUDA's runtime, CuPy, Numba.
_WORDS = (
    "Torch not compiled with CUDA enabled",
    "Found no NVIDIA driver",
    "No CUDA GPUs are available",
    "no CUDA-capable device is detected",
    "CUDA driver version is insufficient",
    "cudaErrorNoDevice",
    "cudaErrorInsufficientDriver",
    "CUDA driver library cannot be found",
    "Attempting to deserialize object on a CUDA device",
    "Unknown backend: 'gpu' requested",  # JAX
)
_NODES = ("/dev/nvidiactl", "/dev/dxg")


def hint(error: BaseException, nodes: tuple[str, ...] = _NODES) -> str:
    """A sentence for an error of CUDA code in a task that holds a GPU, on a machine without one; "" for any other.

    >>> hint(AssertionError("Torch not compiled with CUDA enabled"), ())[:38]
    'The GPU of this task is only counted: '
    """
    if any(map(os.path.exists, nodes)):
        return ""
    said = str(error)
    if not any(words in said for words in _WORDS):
        return ""
    return (
        "The GPU of this task is only counted: this machine has none. For code that runs on both, choose the device by "
        "torch.cuda.is_available() (in nbaccel.train: train.torch.get_device()), or ask for a CPU version by "
        "fallback='cpu'."
    )
