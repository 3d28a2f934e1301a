"""nbaccel: Ray Core's names, so Ray's module with another import."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmarks.contenders import Setup
from benchmarks.contenders.ray import RayCore


class NBAccel(RayCore):
    module = "nbaccel"

    def init_options(self, setup: Setup) -> dict[str, Any]:
        return {"num_cpus": setup.cpus, "num_gpus": setup.gpus, "preload": list(setup.preload)}

    def head_pid(self) -> int:
        """The child of ours that is the head."""
        for child in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
            if Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"nbaccel::head"):
                return int(child)
        raise ProcessLookupError("This process has no child named nbaccel::head.")

    def store_bytes(self) -> int:
        """Memory behind the head's store, whoever has it."""
        for entry in Path(f"/proc/{self.head_pid()}/fd").iterdir():
            if "nbaccel-arena" in os.readlink(entry):
                return entry.stat().st_blocks * 512
        raise ProcessLookupError("The head has no store.")

    def cluster_knows(self) -> None:
        """One round trip: whatever was submitted before has been read by the head."""
        self.api.cluster_resources()
