"""The role of this process in a Ray cluster: a driver or a worker, of its own Ray or of a joined one."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import ray

from nbaccel.handles.options import InitOptions
from nbaccel.ray_engine.startup.head_watch import HeadWatch


@dataclass(frozen=True, slots=True)
class RaySession:
    """One process's time at one cluster. `serial` marks what it has noted on functions and classes."""

    options: InitOptions
    joined: str | None  # the address of a cluster that others started
    ours: bool  # init() started or joined this cluster, so shutdown() leaves it
    in_worker: bool
    serial: int
    namespace: str
    head: HeadWatch
    reporting: ModuleType  # the module nbaccel_in_ray.reporting
    lines_of_start: Sequence[str] = ()  # Ray's own, which the start did not show

    @property
    def through_client(self) -> bool:
        return bool(self.joined and self.joined.startswith("ray://"))

    @property
    def is_of_one_machine(self) -> bool:
        """Whether init() started this Ray, which no other node can join and no autoscaler makes larger."""
        return self.ours and self.joined is None

    @property
    def namespace_of_reports(self) -> str:
        return str(importlib.import_module("nbaccel_in_ray.collector_link").NAMESPACE)

    @property
    def refuses_infeasible(self) -> bool:
        return self.options.infeasible == "raise"

    def asked_inside(self, module: str, function: str, *args: object) -> Any:
        """Call a function of nbaccel_in_ray where it reaches Ray's own tables: through Ray Client, in the cluster."""
        ask = getattr(importlib.import_module(f"nbaccel_in_ray.{module}"), function)
        return ray.get(ray.remote(num_cpus=0)(ask).remote(*args)) if self.through_client else ask(*args)
