"""Nodes and resources on Ray, and what running code may ask about itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import ray

from nbaccel.handles.remote import ActorHandle
from nbaccel.quantities import ACCELERATORS
from nbaccel.ray_engine.border.rays import RaysActor
from nbaccel.ray_engine.border.session import RaySession
from nbaccel.ray_engine.submission import freshening, setup_hooks

OWN_VARIABLES = (freshening.EDITION, setup_hooks.VARIABLE)  # of runtime environments


class Facts(Mapping[str, Any]):
    """What the running code may ask about itself; each fact is looked up when it is asked: some ask the cluster."""

    def __init__(self, session: RaySession) -> None:
        self._session = session
        self._context = ray.get_runtime_context()

    def __getitem__(self, name: str) -> Any:
        inside = self._session.in_worker
        if name in _ANYWHERE:
            return _ANYWHERE[name](self._context)
        if name == "is_worker":
            return inside
        inner, outside = _INSIDE[name]
        return inner(self._session, self._context) if inside else outside

    def __iter__(self) -> Iterator[str]:
        yield from (*_ANYWHERE, "is_worker", *_INSIDE)

    def __len__(self) -> int:
        return len(_ANYWHERE) + 1 + len(_INSIDE)


_NO_DEVICES: dict[str, list[str]] = {name: [] for name in ACCELERATORS}

_ANYWHERE: dict[str, Callable[[Any], Any]] = {
    "job_id": lambda context: context.get_job_id(),
    "node_id": lambda context: context.get_node_id(),
    "worker_id": lambda context: context.get_worker_id(),
    "namespace": lambda context: context.namespace,
    "runtime_env": lambda context: _own_environment(context.get_runtime_env_string()),
    "placement_group_id": lambda context: context.get_placement_group_id(),
    "session_name": lambda context: context.get_session_name(),
    "session_dir": lambda context: _session_dir(context),
    "address": lambda context: context.gcs_address,
}

# name -> (inside of a task or actor, in a driver)
_INSIDE: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "task_id": (lambda session, context: context.get_task_id(), None),
    "task_name": (lambda session, context: context.get_task_name(), None),
    "task_function_name": (lambda session, context: context.get_task_function_name(), None),
    "actor_id": (lambda session, context: context.get_actor_id(), None),
    "actor_name": (lambda session, context: context.get_actor_name() or None, None),
    "class_name": (lambda session, context: _class_name(session), None),
    "accelerator_ids": (lambda session, context: _accelerator_ids(session, context), _NO_DEVICES),
    "assigned_resources": (lambda session, context: context.get_assigned_resources(), {}),
    "is_canceled": (lambda session, context: context.is_canceled(), False),
    "fallback_taken": (lambda session, context: bool(_choice(session)), False),
    "fallback_label": (lambda session, context: _choice(session), ""),
    "attempt": (lambda session, context: _attempt(), 0),
    "reconstructed": (lambda session, context: _reconstructed(context), False),
}


def _accelerator_ids(session: RaySession, context: Any) -> dict[str, list[str]]:
    given = context.get_accelerator_ids()
    in_order = session.reporting.in_device_order
    return {name: in_order(given.get(name, [])) for name in dict.fromkeys([*ACCELERATORS, *given])}


def _choice(session: RaySession) -> str:
    note = session.reporting.reporter.current()
    return note.get("choice", "") if note is not None else ""


def _session_dir(context: Any) -> str:
    try:
        return str(context.get_temp_dir())
    except AttributeError:
        return ""  # Ray Client does not tell


def _class_name(session: RaySession) -> str | None:
    creation = session.reporting.reporter.creation
    return creation["name"].removesuffix(".__init__") if creation is not None else None


def _reconstructed(context: Any) -> bool:
    actor_id = context.get_actor_id()
    row = ray._private.state.actors(actor_id) if actor_id else {}
    return bool(row.get("NumRestarts"))


class RayCluster:
    """The cluster as one process sees it."""

    def __init__(self, session: RaySession, actor_handle: Callable[[RaysActor], ActorHandle]) -> None:
        self._session = session
        self._actor_handle = actor_handle

    def nodes(self) -> list[dict[str, object]]:
        return list(ray.nodes())

    def cluster_resources(self) -> dict[str, float]:
        return dict(ray.cluster_resources())

    def available_resources(self) -> dict[str, float]:
        return dict(ray.available_resources())

    def request_resources(
        self,
        num_cpus: int | None,
        bundles: list[dict[str, float]] | None,
        bundle_labels: list[dict[str, str]] | None,
    ) -> bool:
        """Ray's autoscaler notes it; whether there is one, probe() tells."""
        self._session.asked_inside("tables", "request_resources", num_cpus, bundles, bundle_labels)
        return True

    # ---- who runs here

    def context(self) -> Facts:
        return Facts(self._session)

    def current_actor(self) -> ActorHandle:
        if not self._session.in_worker or ray.get_runtime_context().get_actor_id() is None:
            raise RuntimeError("This code does not run in an actor.")
        return self._actor_handle(ray.get_runtime_context().current_actor)

    def exit_actor(self) -> None:
        if not self._session.in_worker or ray.get_runtime_context().get_actor_id() is None:
            raise TypeError("exit_actor() was called, but this code does not run in an actor.")
        ray.actor.exit_actor()

    def report_progress(self, done: float, total: float) -> None:
        if self._session.in_worker:
            self._session.reporting.reporter.progress(float(done), float(total))


def _own_environment(text: str) -> str:
    """The user's part of a runtime environment: what nbaccel and Ray add to it is taken out."""
    environment = json.loads(text or "{}")
    modules = [each for each in environment.get("py_modules", []) if "_ray_pkg_" not in each]
    variables = {name: value for name, value in environment.get("env_vars", {}).items() if name not in OWN_VARIABLES}
    for name, own in (("py_modules", modules), ("env_vars", variables)):
        environment.pop(name, None)
        if own:
            environment[name] = own
    return json.dumps(environment)


def _attempt() -> int:
    return int(ray._private.worker.global_worker.core_worker.get_current_task_attempt_number())
