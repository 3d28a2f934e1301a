"""The engine as the code inside a task or an actor sees it: who am I, what did I get, for which cell do I run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from nbaccel import exceptions
from nbaccel.handles.ids import PlacementGroupID
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.local_engine import wire
from nbaccel.local_engine.client import environment_spec
from nbaccel.local_engine.client.cluster_view import ClusterView
from nbaccel.local_engine.wire import codec
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.worker import unheard_exits
from nbaccel.local_engine.worker.execution import ActorExit, Running, current_run
from nbaccel.quantities import ACCELERATORS, from_units
from nbaccel.views.snapshot import Snapshot


class WorkerView(ClusterView):
    """Mixed into the worker's client."""

    def _now(self: Any) -> Running | None:
        running: Running | None = current_run.get() or self._running
        if running is None and self.actor is not None:
            running = self.actor.creation  # a thread that the actor itself started
        return running

    def running_task(self: Any) -> bytes:
        running = self._now()
        return running.task_id if running is not None else b""

    def cell(self: Any) -> tuple[str, bytes]:
        running = self._now()
        return (running.terms.cell, running.terms.parent) if running is not None else ("", b"")

    def base_environment(self: Any) -> environment_spec.Environment:
        """What this code itself runs with: its tasks get it too."""
        owner = self.actor.creation if self.actor is not None else current_run.get() or self._running
        if owner is None or not owner.terms.environment:
            return {}
        if owner.environment is None:
            owner.environment = json.loads(owner.terms.runtime_env)
        return owner.environment

    def captured_group(self: Any) -> PlacementGroup | None:
        owner = self.actor.creation if self.actor is not None else current_run.get() or self._running
        if owner is None or not owner.terms.capture:
            return None
        if owner.captured is None:
            owner.captured = PlacementGroup(PlacementGroupID.from_hex(_group(owner) or ""))
        return owner.captured

    def actor_devices(self: Any) -> dict[str, list[str]]:
        """Device ids by resource: the running task's, or its actor's."""
        running = current_run.get() or self._running
        if running is not None and running.run.devices:
            return dict(running.run.devices)
        if self.actor is not None:
            return dict(self.actor.creation.run.devices or {})
        return {}

    def context(self: Any) -> dict[str, Any]:
        running = self._now()
        terms = running.terms if running else None
        creation = self.actor.creation if self.actor is not None else None
        owner = creation or running
        ids = {name: [] for name in ACCELERATORS} | self.actor_devices()
        return {
            "job_id": self.job.to_bytes(4, "big").hex(),
            "node_id": self.setup.node_id.hex() if self.setup else None,
            "worker_id": self.worker_id.hex(),
            "task_id": running.task_id.hex() if running else None,
            "task_name": terms.name if terms else None,
            "task_function_name": self.execution.function_name(running, creation) if running else None,
            "actor_id": creation.run.actor_id.hex() if creation else None,
            "actor_name": creation.terms.actor.name if creation else None,
            "class_name": creation.terms.class_name if creation else None,
            "namespace": self.namespace,
            "accelerator_ids": ids,
            "assigned_resources": _assigned(owner),
            "is_canceled": bool(running and running.cancelled),
            "fallback_taken": bool(owner and owner.run.choice),
            "fallback_label": owner.terms.choices[owner.run.choice].label if owner and owner.run.choice else "",
            "runtime_env": (owner.terms.runtime_env if owner else b"{}").decode(),
            "attempt": running.run.attempt if running else 0,
            "reconstructed": bool(creation and creation.run.attempt),
            "placement_group_id": _group(owner),
            "captures": bool(owner and owner.terms.capture),
            "session_name": self.setup.session if self.setup else "",
            "session_dir": self.setup.directory if self.setup else "",
            "address": os.path.join(self.setup.directory, "head.sock") if self.setup else "",
            "is_worker": True,
        }

    def current_actor(self: Any) -> Any:
        if self.actor is None:
            raise RuntimeError("This code does not run in an actor.")
        run, terms = self.actor.creation.run, self.actor.creation.terms
        methods = codec.load_code(terms.actor.methods)
        return self.actor_handle(run.actor_id, terms.class_name, methods, counted=False)

    def exit_actor(self: Any) -> None:
        if self.actor is None:
            raise TypeError("exit_actor() was called, but this code does not run in an actor.")
        running = self._now()
        if running is not None and self.actor.is_under_way(running):
            running.leaves = True  # what is raised here may end in a task of asyncio's that nobody waits for
        else:
            self.link.say(asks.told(asks.ActorLeaves()))  # code that no call waits for
        unheard_exits.silence()
        raise ActorExit

    def report_progress(self: Any, done: float, total: float) -> None:
        running = self._now()
        if running is not None:
            self.link.say_later(wire.Progress(running.task_id, float(done), float(total)))

    def watch(
        self: Any, callback: Callable[[Snapshot | None], None] | None, *, metrics: bool = True, rows: int = 0
    ) -> None:
        raise exceptions.RaySystemError("Snapshots can be watched from a driver, not from inside a task.")

    def shutdown(self: Any) -> None:
        """A task that calls shutdown() ends its own use of the cluster, which is nothing."""


def _assigned(running: Running | None) -> dict[str, float]:
    if running is None or not running.terms.choices:
        return {}
    return {name: from_units(amount) for name, amount in running.terms.demand_of(running.run.choice)}


def _group(running: Running | None) -> str | None:
    if running is None or not running.terms.choices:
        return None
    group_id = running.terms.choices[running.run.choice].placement.group_id
    return group_id.hex() if group_id else None
