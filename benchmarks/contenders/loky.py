"""loky's reusable executor, what joblib runs on."""

from __future__ import annotations

from benchmarks.contenders import Setup
from benchmarks.contenders.processes import Processes


class Loky(Processes):
    def start(self, setup: Setup) -> None:
        import loky

        self.pool = loky.get_reusable_executor(max_workers=setup.cpus, timeout=None)
