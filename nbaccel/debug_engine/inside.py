"""What the running code may ask about itself: its task, its actor, what it was given."""

from __future__ import annotations

import os
from typing import Any

from nbaccel.debug_engine.actors import DebugActors
from nbaccel.debug_engine.stage import Stage
from nbaccel.debug_engine.workers import DebugWorker
from nbaccel.handles.code_facts import CodeFacts
from nbaccel.handles.remote import ActorHandle
from nbaccel.local_engine.worker import unheard_exits
from nbaccel.local_engine.worker.execution import ActorExit, Running, current_run
from nbaccel.quantities import ACCELERATORS, UNIT


class Inside:
    """Answers for the code that is on the stack."""

    def __init__(self, stage: Stage, actors: DebugActors, node_id: bytes, namespace: str) -> None:
        self._stage = stage
        self._actors = actors
        self._node_id = node_id
        self._namespace = namespace

    def context(self) -> CodeFacts:
        running, worker = current_run.get(), self._worker()
        creation = worker.creation if worker is not None else None
        owner = creation or running
        return CodeFacts(
            job_id="00000001",
            node_id=self._node_id.hex(),
            worker_id=(worker.worker_id if worker is not None else b"\xff" * 28).hex(),
            task_id=running.task_id.hex() if running is not None else None,
            task_name=running.terms.name if running is not None else None,
            task_function_name=self._stage.execution.function_name(running, creation) if running else None,
            actor_id=creation.run.actor_id.hex() if creation is not None else None,
            actor_name=creation.terms.actor.name if creation is not None else None,
            class_name=creation.terms.class_name if creation is not None else None,
            namespace=self._namespace,
            is_canceled=bool(running and running.cancelled),
            attempt=running.run.attempt if running is not None else 0,
            reconstructed=bool(creation and creation.run.attempt),
            session_name="debug",
            session_dir=os.getcwd(),
            address="debug",
            is_worker=running is not None,
            **_given(owner),
        )

    def _worker(self) -> DebugWorker | None:
        running = current_run.get()
        record = self._stage.scheduler.task_record(running.task_id) if running is not None else None
        return self._stage.workers.get(record.task.payload.worker_id) if record is not None else None

    def _creation(self) -> Running | None:
        """Of the actor that the code runs in."""
        worker = self._worker()
        return worker.creation if worker is not None else None

    def actor_devices(self) -> dict[str, list[str]]:
        creation = self._creation()
        return dict((creation.run.devices if creation is not None else None) or {})

    def current_actor(self) -> ActorHandle:
        creation = self._creation()
        if creation is None:
            raise RuntimeError("This code does not run in an actor.")
        return self._actors.known(creation.run.actor_id, counted=False)

    def exit_actor(self) -> None:
        if self._creation() is None:
            raise TypeError("exit_actor() was called, but this code does not run in an actor.")
        running = current_run.get()
        if running is not None:
            running.leaves = True  # what is raised here may end in a task of asyncio's that nobody waits for
        unheard_exits.silence()
        raise ActorExit


def _given(owner: Running | None) -> dict[str, Any]:
    """What a task, or the actor that it is a call of, got of what it had asked for."""
    terms, choice = (owner.terms, owner.run.choice) if owner is not None else (None, 0)
    taken = terms.choices[choice] if terms is not None and terms.choices else None
    group_id = taken.placement.group_id if taken is not None else None
    assigned = terms.demand_of(choice) if terms is not None and taken is not None else ()
    return {
        "accelerator_ids": {name: [] for name in ACCELERATORS} | ((owner.run.devices if owner else None) or {}),
        "assigned_resources": {name: amount / UNIT for name, amount in assigned},
        "fallback_taken": bool(choice),
        "fallback_label": taken.label if taken is not None and choice else "",
        "runtime_env": (terms.runtime_env if terms is not None else b"{}").decode(),
        "placement_group_id": group_id.hex() if group_id else None,
        "captures": terms is not None and terms.capture,
    }
