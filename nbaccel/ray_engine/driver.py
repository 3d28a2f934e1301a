"""The Ray engine: one object for a process, driver or worker, that keeps the engine's promise by asking Ray."""

from __future__ import annotations

import importlib
import itertools
import time
from typing import Any

import ray

from nbaccel import engine as engines
from nbaccel.handles.options import InitOptions
from nbaccel.ray_engine.reports import unasked
from nbaccel.ray_engine.reports.cluster import Cluster
from nbaccel.ray_engine.reports.device_memory import DeviceMemory, Kind
from nbaccel.ray_engine.reports.watching import Watching
from nbaccel.ray_engine.startup import orphans, own_environments
from nbaccel.ray_engine.startup.addresses import host_and_port
from nbaccel.ray_engine.startup.head_watch import HeadWatch
from nbaccel.ray_engine.startup.starting import import_shipped
from nbaccel.ray_engine.submission.abandoned import Abandoned
from nbaccel.ray_engine.submission.choosing import Choosing
from nbaccel.ray_engine.submission.freshening import Freshening
from nbaccel.ray_engine.submission.groups import Groups
from nbaccel.ray_engine.submission.objects import Objects
from nbaccel.ray_engine.submission.shipping import Shipping
from nbaccel.ray_engine.submission.submissions import About, Submissions
from nbaccel.ray_engine.submission.tasks import Tasks
from nbaccel.views import sinks
from nbaccel.views.record_book import OwnRecords

_serials = itertools.count(1)


class RayEngine(Tasks, Choosing, DeviceMemory, Objects, Cluster, Groups, Watching):
    """Ray under nbaccel's promise."""

    name = "ray"

    def __init__(self, options: InitOptions, address: str | None, *, ours: bool, in_worker: bool = False) -> None:
        self.options = options
        self.joined = address
        self.in_worker = in_worker
        self.serial = next(_serials)
        self.shipped = import_shipped()
        self.reporting = importlib.import_module("nbaccel_in_ray.reporting")
        self.namespace_of_reports = self.reporting.NAMESPACE
        self.namespace = ray.get_runtime_context().namespace
        self.submissions = Submissions()
        self.published = OwnRecords(changed=self.submitted)
        self.publish, self.ask = self.published.publish, self.published.ask
        self.stand_ins: dict[bytes, Any] = {}
        self.abandoned = Abandoned()
        self.verdicts: dict[tuple[Any, ...], tuple[float, str]] = {}
        self.refused_groups: dict[bytes, Any] = {}
        self.gpu_kinds: tuple[tuple[str, ...], list[Kind]] = ((), [])
        self.freshening = Freshening(self.serial)
        self.shipping = Shipping(
            self.freshening,
            joined=address is not None,
            by_task=not ours and not in_worker,
            one_machine=own_environments.is_worker_of_one() if in_worker else ours and address is None,
        )
        self.through_client = bool(address and address.startswith("ray://"))
        self._ours = ours
        self._guard = orphans.begin() if ours and address is None else None
        self.head = HeadWatch(_head_of(address), self._lost, ray.shutdown)
        self.start_watching()
        if not in_worker:
            unasked.shorten()
            self.head.start()

    def _lost(self, sentence: str) -> None:
        sinks.installed.notice(sinks.Notice("lost", sentence))

    def told(self, task_id: bytes, about: About, actor_id: bytes | None) -> None:
        """Views learn of a new task before it runs; of a nested one by the reports of the task that submitted it."""
        if not self.in_worker:
            self.submitted()
            return
        note = {
            "task_id": task_id,
            "name": about.name,
            "kind": about.kind,
            "demand": about.demand,
            "parent": self.parent_task(),
            "submitted_at": time.time(),
            "submitted_actor": actor_id.hex() if actor_id else None,
        }
        self.reporting.reporter.submitted(note)

    def parent_task(self) -> str | None:
        """The task that runs here, by the id that its user knows: an attempt stands for its supervisor."""
        note = self.reporting.reporter.current() or {}
        stands_for: str | None = note.get("stands_for")
        return stands_for or ray.get_runtime_context().get_task_id()

    def shutdown(self) -> None:
        """Leave; a Ray that init() started ends with us. One that the program started itself goes on."""
        if self.in_worker:
            return
        unasked.stop()
        self.head.stop()
        self.abandoned.stop()
        if self.head.lost:
            ray.shutdown()  # first: whatever else is asked of a dead head waits for a minute
        self.stop_watching()
        if self._ours:
            ray.shutdown()
        if self._guard is not None:
            self._guard.terminate()
            self._guard.wait()


def _head_of(address: str | None) -> tuple[str, int]:
    """Where the cluster's head listens; for Ray Client, where its server does."""
    joined_as_client = address is not None and address.startswith("ray://")
    return host_and_port(address if joined_as_client and address else ray.get_runtime_context().gcs_address)


def of_this_worker() -> RayEngine:
    """The engine of a process that Ray has started: a worker, or the server of Ray Client."""
    in_worker = ray._private.worker.global_worker.mode == ray.WORKER_MODE
    engine = RayEngine(InitOptions(), None, ours=False, in_worker=in_worker)
    engines.adopt(engine)
    return engine
