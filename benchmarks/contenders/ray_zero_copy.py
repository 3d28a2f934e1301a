"""Ray with its flag for tensors on: they become arrays on their way, and are read in place."""

from __future__ import annotations

import os

from benchmarks.contenders import Setup
from benchmarks.contenders.ray import RayCore


class RayZeroCopy(RayCore):
    def start(self, setup: Setup) -> None:
        os.environ["RAY_ENABLE_ZERO_COPY_TORCH_TENSORS"] = "1"  # before the import, and for the workers
        super().start(setup)
