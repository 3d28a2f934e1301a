"""A torch that believes in CUDA devices: preloaded into workers, it lets programs for GPUs run where there is none.

Only what a program asks about devices is replaced; what is computed is computed on the CPU, and ranks are connected by
gloo.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed

torch.cuda.is_available = lambda: True
torch.cuda.set_device = lambda device: None
torch.cuda.empty_cache = lambda: None
_begin = torch.distributed.init_process_group


def _connected_by_gloo(backend: str | None = None, *args: Any, **kwargs: Any) -> None:
    _begin("gloo" if backend == "nccl" else backend, *args, **kwargs)


torch.distributed.init_process_group = _connected_by_gloo
