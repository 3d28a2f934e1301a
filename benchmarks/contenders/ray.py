"""Ray Core on this machine, started as its users start it."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.contenders import Setup


class RayCore:
    """Tasks, devices, objects and actors through Ray Core's names."""

    module = "ray"

    def start(self, setup: Setup) -> None:
        self.api = importlib.import_module(self.module)
        self._remotes: dict[tuple[Any, float], Any] = {}
        self.api.init(**self.init_options(setup))

    def init_options(self, setup: Setup) -> dict[str, Any]:
        # No preload: Ray's workers import what a task imports, each process anew.
        return {"num_cpus": setup.cpus, "num_gpus": setup.gpus, "logging_level": logging.ERROR}

    def stop(self) -> None:
        self.api.shutdown()

    def _remote(self, code: Any, gpus: float = 0) -> Any:
        remote = self._remotes.get((code, gpus))
        if remote is None:
            remote = self.api.remote(num_gpus=gpus)(code) if gpus else self.api.remote(code)
            self._remotes[(code, gpus)] = remote
        return remote

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._remote(function).remote(*args)

    def submit_many(self, function: Callable[..., Any], arguments: Iterable[Any]) -> list[Any]:
        remote = self._remote(function)
        return [remote.remote(argument) for argument in arguments]

    def submit_on_device(self, function: Callable[..., Any], argument: Any) -> Any:
        return self._remote(function, gpus=1).remote(argument)

    def results(self, handles: list[Any]) -> list[Any]:
        return list(self.api.get(handles))

    def put(self, value: Any) -> Any:
        return self.api.put(value)

    def create_actor(self, cls: type) -> Any:
        return self._remote(cls).remote()

    def call(self, actor: Any, argument: Any) -> Any:
        return actor.echo.remote(argument)

    def end_actor(self, actor: Any) -> None:
        self.api.kill(actor)

    def stream(self, function: Callable[..., Any], argument: Any) -> Iterable[Any]:
        return (self.api.get(ref) for ref in self._remote(function).remote(argument))
