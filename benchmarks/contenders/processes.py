"""concurrent.futures.ProcessPoolExecutor, the standard library's answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.contenders import Setup


class Processes:
    def start(self, setup: Setup) -> None:
        from concurrent.futures import ProcessPoolExecutor

        self.pool: Any = ProcessPoolExecutor(max_workers=setup.cpus)

    def stop(self) -> None:
        self.pool.shutdown()

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.pool.submit(function, *args)

    def submit_many(self, function: Callable[..., Any], arguments: Iterable[Any]) -> list[Any]:
        return [self.pool.submit(function, argument) for argument in arguments]

    def results(self, handles: list[Any]) -> list[Any]:
        return [handle.result() for handle in handles]
