"""Dask's LocalCluster: a scheduler and worker processes of one thread each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.contenders import Setup


class Dask:
    def start(self, setup: Setup) -> None:
        import distributed

        self._cluster = distributed.LocalCluster(
            n_workers=setup.cpus, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
        self._client = distributed.Client(self._cluster)

    def stop(self) -> None:
        self._client.close()
        self._cluster.close()

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._client.submit(function, *args, pure=False)

    def submit_many(self, function: Callable[..., Any], arguments: Iterable[Any]) -> list[Any]:
        return list(self._client.map(function, list(arguments), pure=False))

    def results(self, handles: list[Any]) -> list[Any]:
        if handles and not hasattr(handles[0], "key"):  # an actor's answers are no futures of the cluster
            return [handle.result() for handle in handles]
        return list(self._client.gather(handles))

    def put(self, value: Any) -> Any:
        return self._client.scatter(value, hash=False)

    def create_actor(self, cls: type) -> Any:
        return self._client.submit(cls, actor=True, pure=False).result()

    def call(self, actor: Any, argument: Any) -> Any:
        return actor.echo(argument)

    def end_actor(self, actor: Any) -> None:
        """It ends with its last reference."""
