"""The engine as the code inside a task or an actor sees it: who am I, what did I get, for which cell do I run."""

from __future__ import annotations

import json
import logging
import os
import threading
from typing import Any, Protocol

from nbaccel.handles.code_facts import CodeFacts
from nbaccel.handles.ids import PlacementGroupID
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.handles.remote import ActorHandle, MethodSpec
from nbaccel.local_engine import wire
from nbaccel.local_engine.client import submitter
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.client.submitter import Submitter
from nbaccel.local_engine.wire import codec
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.worker.execution import ActorExit, Execution, Running, current_run
from nbaccel.quantities import ACCELERATORS, from_units


def silence_actor_exits() -> None:
    """From now on no loop and no thread of this process reports an ActorExit that nobody has caught."""
    logging.getLogger("asyncio").addFilter(_is_news)  # adding the same filter twice has no effect
    before = threading.excepthook
    if not isinstance(before, _ExceptHook):
        threading.excepthook = _ExceptHook(before)


def _is_news(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], ActorExit))


class _ExceptHook:
    """What a thread's uncaught exception is given to; the hook that was there before gets all others."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, args: Any) -> None:
        if not issubclass(args.exc_type, ActorExit):
            self._before(args)


class HousedActor(Protocol):
    """The actor that lives in the process."""

    @property
    def creation(self) -> Running:
        """The run of its constructor."""

    def is_under_way(self, running: Running) -> bool: ...


class WorkerFacts(Protocol):
    """What is known of a worker: some of it only after its start."""

    @property
    def running(self) -> Running | None: ...
    @property
    def actor(self) -> HousedActor | None: ...
    @property
    def execution(self) -> Execution: ...
    @property
    def setup(self) -> wire.Setup | None: ...
    @property
    def worker_id(self) -> bytes: ...
    @property
    def job(self) -> int: ...
    @property
    def namespace(self) -> str: ...
    @property
    def link(self) -> Link: ...
    def actor_handle(
        self, actor_id: bytes, class_name: str, methods: dict[str, MethodSpec], *, counted: bool
    ) -> ActorHandle: ...


class WorkerView:
    """Answers for the code that runs in one worker."""

    def __init__(self, worker: WorkerFacts, outside: Submitter) -> None:
        self._worker = worker
        self._outside = outside  # who submits while no task's code runs

    def _now(self) -> Running | None:
        running = current_run.get() or self._worker.running
        if running is None and self._worker.actor is not None:
            running = self._worker.actor.creation  # this is a thread that the actor started
        return running

    def _owner(self) -> Running | None:
        """The actor's constructor, which stands for all that the actor runs, or the running task."""
        if self._worker.actor is not None:
            return self._worker.actor.creation
        return current_run.get() or self._worker.running

    def running_task(self) -> bytes:
        running = self._now()
        return running.task_id if running is not None else b""

    def cell(self) -> tuple[str, bytes]:
        running = self._now()
        return (running.terms.cell, running.terms.parent) if running is not None else self._outside.cell()

    def base_environment(self) -> submitter.Environment:
        """What this code itself runs with: its tasks get it too."""
        owner = self._owner()
        if owner is None:
            return self._outside.base_environment()
        if not owner.terms.environment:
            return {}
        if owner.environment is None:
            owner.environment = json.loads(owner.terms.runtime_env)
        return owner.environment

    def captured_group(self) -> PlacementGroup | None:
        owner = self._owner()
        if owner is None or not owner.terms.capture:
            return None
        if owner.captured is None:
            owner.captured = PlacementGroup(PlacementGroupID.from_hex(_group(owner) or ""))
        return owner.captured

    def actor_devices(self) -> dict[str, list[str]]:
        """Device ids by resource: the running task's, or its actor's."""
        running = current_run.get() or self._worker.running
        if running is not None and running.run.devices:
            return dict(running.run.devices)
        if self._worker.actor is not None:
            return dict(self._worker.actor.creation.run.devices or {})
        return {}

    def context(self) -> CodeFacts:
        running = self._now()
        terms = running.terms if running else None
        creation = self._worker.actor.creation if self._worker.actor is not None else None
        owner = creation or running
        ids: dict[str, list[str]] = {name: [] for name in ACCELERATORS} | self.actor_devices()
        return CodeFacts(
            job_id=self._worker.job.to_bytes(4, "big").hex(),
            node_id=self._worker.setup.node_id.hex() if self._worker.setup else None,
            worker_id=self._worker.worker_id.hex(),
            task_id=running.task_id.hex() if running else None,
            task_name=terms.name if terms else None,
            task_function_name=self._worker.execution.function_name(running, creation) if running else None,
            actor_id=creation.run.actor_id.hex() if creation else None,
            actor_name=creation.terms.actor.name if creation else None,
            class_name=creation.terms.class_name if creation else None,
            namespace=self._worker.namespace,
            accelerator_ids=ids,
            assigned_resources=_assigned(owner),
            is_canceled=bool(running and running.cancelled),
            fallback_taken=bool(owner and owner.run.choice),
            fallback_label=owner.terms.choices[owner.run.choice].label if owner and owner.run.choice else "",
            runtime_env=(owner.terms.runtime_env if owner else b"{}").decode(),
            attempt=running.run.attempt if running else 0,
            reconstructed=bool(creation and creation.run.attempt),
            placement_group_id=_group(owner),
            captures=bool(owner and owner.terms.capture),
            session_name=self._worker.setup.session if self._worker.setup else "",
            session_dir=self._worker.setup.directory if self._worker.setup else "",
            address=os.path.join(self._worker.setup.directory, "head.sock") if self._worker.setup else "",
            is_worker=True,
        )

    def current_actor(self) -> ActorHandle:
        if self._worker.actor is None:
            raise RuntimeError("This code does not run in an actor.")
        run, terms = self._worker.actor.creation.run, self._worker.actor.creation.terms
        methods = codec.load_code(terms.actor.methods)
        return self._worker.actor_handle(run.actor_id, terms.class_name, methods, counted=False)

    def exit_actor(self) -> None:
        if self._worker.actor is None:
            raise TypeError("exit_actor() was called, but this code does not run in an actor.")
        running = self._now()
        if running is not None and self._worker.actor.is_under_way(running):
            running.leaves = True  # noted, because an asyncio task that nobody awaits may swallow ActorExit
        else:
            self._worker.link.send(asks.notified(asks.ActorLeaves()))  # no call waits for this code
        silence_actor_exits()
        raise ActorExit

    def report_progress(self, done: float, total: float) -> None:
        running = self._now()
        if running is not None:
            self._worker.link.send_later(wire.Progress(running.task_id, float(done), float(total)))


def _assigned(running: Running | None) -> dict[str, float]:
    if running is None or not running.terms.choices:
        return {}
    return {name: from_units(amount) for name, amount in running.terms.demand_of(running.run.choice)}


def _group(running: Running | None) -> str | None:
    if running is None or not running.terms.choices:
        return None
    group_id = running.terms.choices[running.run.choice].placement.group_id
    return group_id.hex() if group_id else None
