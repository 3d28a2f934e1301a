"""The service actors that answer views: one collector of reports for each job, and agents on nodes.

The first question starts them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Protocol

import ray

from nbaccel.handles.internal_work import is_hidden
from nbaccel.ray_engine.rays import Keywords, RaysActor, RaysMethod, RaysRef
from nbaccel.ray_engine.session import RaySession

COLLECTOR_TIMEOUT_S = 10.0


class Agent(RaysActor, Protocol):
    """Ray's handle of a node's agent."""

    @property
    def devices(self) -> RaysMethod: ...
    @property
    def log_tail(self) -> RaysMethod: ...
    @property
    def log_parts(self) -> RaysMethod: ...
    @property
    def stack(self) -> RaysMethod: ...


class CollectorHandle(RaysActor, Protocol):
    """Ray's handle of the collector."""

    @property
    def since(self) -> RaysMethod: ...


class ServiceActors:
    """Those of one process. `keywords`: what of nbaccel their runtime environment carries."""

    def __init__(self, session: RaySession, keywords: Callable[[], Keywords]) -> None:
        self._session = session
        self._keywords = keywords
        self._collector: CollectorHandle | None = None
        self._starting: tuple[CollectorHandle, RaysRef] | None = None
        self._agents: dict[str, Agent] = {}

    @property
    def is_collecting(self) -> bool:
        """Whether the collector is there."""
        return self._collector is not None

    def stop(self) -> None:
        """End them, where Ray is still there."""
        collector = self._starting[0] if self._starting is not None else self._collector
        if ray.is_initialized():
            if collector is not None:
                from ray.experimental.internal_kv import _internal_kv_del

                _internal_kv_del(self._watched_key(), namespace=self._session.namespace_of_reports)
                ray.kill(collector)
            for agent in self._agents.values():
                ray.kill(agent)
        self._collector, self._starting, self._agents = None, None, {}

    def ids(self) -> list[bytes]:
        """Of those that are there."""
        return [each._actor_id.binary() for each in (self._collector, *self._agents.values()) if each is not None]

    # ---- the collector

    def _watched_key(self) -> bytes:
        return bytes(_collector_link().watched_key(ray.get_runtime_context().get_job_id()))

    def collector(self) -> CollectorHandle:
        """The actor that gathers reports; started, and the tasks told of it, when it is first needed."""
        if self._collector is None:
            if self._starting is None:
                self._starting = self._begin_collecting()
            made, first_answer = self._starting  # kept after a timeout: an actor without a handle would end
            ray.get(first_answer, timeout=COLLECTOR_TIMEOUT_S)
            self._collector, self._starting = made, None
        return self._collector

    def _begin_collecting(self) -> tuple[CollectorHandle, RaysRef]:
        from ray.experimental.internal_kv import _internal_kv_put

        kind = internal_class(importlib.import_module("nbaccel_in_ray.service_actors").Collector)
        name = _collector_link().collector_name(ray.get_runtime_context().get_job_id())
        options = {
            "name": name,
            "namespace": self._session.namespace_of_reports,
            "get_if_exists": True,
            "num_cpus": 0,
            **self._keywords(),
        }
        made: CollectorHandle = ray.remote(kind).options(**options).remote(self._watched_key())
        _internal_kv_put(self._watched_key(), b"1", namespace=self._session.namespace_of_reports)
        return made, made.since.remote(0, 0)

    def has_begun_collecting(self) -> bool:
        """Whether the collector answers, without waiting for it; it is started where there is none."""
        if self._collector is None:
            self._starting = self._starting or self._begin_collecting()
            return is_here(self._starting[1])
        return True

    def lose_collector(self) -> None:
        """Its node was lost: another will be started."""
        self._collector, self._starting = None, None

    # ---- the nodes' agents

    def agent(self, node_id: str) -> Agent:
        """The one on this node."""
        if node_id not in self._agents:
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            kind = internal_class(importlib.import_module("nbaccel_in_ray.service_actors").NodeAgent)
            place = NodeAffinitySchedulingStrategy(node_id, soft=False)
            options = {"num_cpus": 0, "scheduling_strategy": place, **self._keywords()}
            self._agents[node_id] = ray.remote(kind).options(**options).remote()
        return self._agents[node_id]

    def lose_agent(self, node_id: str) -> None:
        self._agents.pop(node_id, None)


def _collector_link() -> ModuleType:
    return importlib.import_module("nbaccel_in_ray.collector_link")


def internal_class(kind: type) -> type:
    """A class of service actors with the mark by which views leave them out."""
    marked: type = importlib.import_module("nbaccel_in_ray.internals").marked(kind)
    return marked if is_hidden() else kind


def is_here(ref: RaysRef) -> bool:
    """Whether the value of this ref has come."""
    return bool(ray.wait([ref], timeout=0)[0])
