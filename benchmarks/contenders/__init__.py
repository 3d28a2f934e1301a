"""Who is compared: one small module each, imported in the contender's own process.

A contender has `start`, `stop`, `submit`, `submit_many` and `results`; one that knows devices, objects, actors or
streams has the methods of `Devices`, `Objects`, `Actors` or `Streams` too. A row of the table is measured where its
methods exist.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, runtime_checkable


class Setup(NamedTuple):
    """What a contender is started with."""

    cpus: int = 2
    gpus: int = 1
    preload: tuple[str, ...] = ()


class Contender(Protocol):
    def start(self, setup: Setup) -> None: ...
    def stop(self) -> None: ...
    def submit(self, function: Callable[..., Any], *args: Any) -> Any: ...
    def submit_many(self, function: Callable[..., Any], arguments: Iterable[Any]) -> list[Any]: ...
    def results(self, handles: list[Any]) -> list[Any]: ...


@runtime_checkable
class Devices(Protocol):
    def submit_on_device(self, function: Callable[..., Any], argument: Any) -> Any: ...


@runtime_checkable
class Objects(Protocol):
    def put(self, value: Any) -> Any: ...


@runtime_checkable
class Actors(Protocol):
    def create_actor(self, cls: type) -> Any: ...
    def call(self, actor: Any, argument: Any) -> Any: ...
    def end_actor(self, actor: Any) -> None: ...


@runtime_checkable
class Streams(Actors, Protocol):
    """Asyncio actors, too, and tasks whose results come one by one."""

    def stream(self, function: Callable[..., Any], argument: Any) -> Iterable[Any]: ...


class Entry(NamedTuple):
    """A row of the table of contenders."""

    module: str
    class_name: str
    needs: str  # the distribution's import name
    title: str
    rounds: int = 7  # at most: some take minutes for what others do in seconds


CONTENDERS: dict[str, Entry] = {
    "nbaccel": Entry("nbaccel", "NBAccel", "nbaccel", "nbaccel"),
    "ray": Entry("ray", "RayCore", "ray", "Ray"),
    "ray_zero_copy": Entry("ray_zero_copy", "RayZeroCopy", "ray", "Ray, zero-copy tensors"),
    "processes": Entry("processes", "Processes", "concurrent.futures", "ProcessPoolExecutor"),
    "loky": Entry("loky", "Loky", "loky", "loky", 3),
    "dask": Entry("dask", "Dask", "distributed", "Dask LocalCluster", 1),
    "ipyparallel": Entry("ipyparallel", "IPyParallel", "ipyparallel", "ipyparallel", 1),
}


def is_installed(name: str) -> bool:
    return importlib.util.find_spec(CONTENDERS[name].needs) is not None


def load(name: str) -> Contender:
    entry = CONTENDERS[name]
    module = importlib.import_module(f"benchmarks.contenders.{entry.module}")
    contender: Contender = getattr(module, entry.class_name)()
    return contender
