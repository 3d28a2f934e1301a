"""ipyparallel: a controller and engines on this machine, tasks through the balanced view."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.contenders import Setup


class IPyParallel:
    def start(self, setup: Setup) -> None:
        import ipyparallel

        self._cluster = ipyparallel.Cluster(n=setup.cpus, log_level=logging.ERROR)
        self._client = self._cluster.start_and_connect_sync()
        self._view = self._client.load_balanced_view()

    def stop(self) -> None:
        self._client.close()
        self._cluster.stop_cluster_sync()

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._view.apply_async(function, *args)

    def submit_many(self, function: Callable[..., Any], arguments: Iterable[Any]) -> list[Any]:
        return [self._view.apply_async(function, argument) for argument in arguments]

    def results(self, handles: list[Any]) -> list[Any]:
        return [handle.get() for handle in handles]
