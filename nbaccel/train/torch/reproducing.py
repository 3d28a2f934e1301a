"""enable_reproducibility: makes a repeated run give the same numbers, as far as torch guarantees it."""

from __future__ import annotations

import os
import random
import sys

from nbaccel.train.torch.choosing import loaded_torch


def enable_reproducibility(seed: int = 0) -> None:
    """Seed torch, random and (if it is loaded) numpy, and let torch use only algorithms that are deterministic.

    Call it first in the training function. Training becomes slower, and an operation without a deterministic algorithm
    raises an error.
    """
    torch = loaded_torch()
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # cuBLAS needs this to be deterministic; see torch's notes
    random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
