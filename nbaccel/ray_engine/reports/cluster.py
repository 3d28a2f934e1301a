"""Nodes and resources on Ray, and what running code may ask about itself."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import ray

from nbaccel import exceptions
from nbaccel.quantities import ACCELERATORS
from nbaccel.ray_engine.submission import freshening, setup_hooks

OWN_VARIABLES = (freshening.EDITION, setup_hooks.VARIABLE)  # of runtime environments


class Facts(Mapping[str, Any]):
    """What the running code may ask about itself; each fact is looked up when it is asked: some ask the cluster."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._context = ray.get_runtime_context()

    def __getitem__(self, name: str) -> Any:
        inside = self._engine.in_worker
        if name in _ANYWHERE:
            return _ANYWHERE[name](self._context)
        if name == "is_worker":
            return inside
        inner, outside = _INSIDE[name]
        return inner(self._engine, self._context) if inside else outside

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
    "task_id": (lambda engine, context: context.get_task_id(), None),
    "task_name": (lambda engine, context: context.get_task_name(), None),
    "task_function_name": (lambda engine, context: context.get_task_function_name(), None),
    "actor_id": (lambda engine, context: context.get_actor_id(), None),
    "actor_name": (lambda engine, context: context.get_actor_name() or None, None),
    "class_name": (lambda engine, context: _class_name(engine), None),
    "accelerator_ids": (lambda engine, context: _accelerator_ids(engine, context), _NO_DEVICES),
    "assigned_resources": (lambda engine, context: context.get_assigned_resources(), {}),
    "is_canceled": (lambda engine, context: context.is_canceled(), False),
    "fallback_taken": (lambda engine, context: bool(_choice(engine)), False),
    "fallback_label": (lambda engine, context: _choice(engine), ""),
    "attempt": (lambda engine, context: _attempt(), 0),
    "reconstructed": (lambda engine, context: _reconstructed(context), False),
}


def _accelerator_ids(engine: Any, context: Any) -> dict[str, list[str]]:
    given = context.get_accelerator_ids()
    in_order = engine.reporting.in_device_order
    return {name: in_order(given.get(name, [])) for name in dict.fromkeys([*ACCELERATORS, *given])}


def _choice(engine: Any) -> str:
    note = engine.reporting.reporter.current()
    return note.get("choice", "") if note is not None else ""


def _session_dir(context: Any) -> str:
    try:
        return str(context.get_temp_dir())
    except AttributeError:
        return ""  # Ray Client does not tell


def _class_name(engine: Any) -> str | None:
    creation = engine.reporting.reporter.creation
    return creation["name"].removesuffix(".__init__") if creation is not None else None


def _reconstructed(context: Any) -> bool:
    actor_id = context.get_actor_id()
    row = ray._private.state.actors(actor_id) if actor_id else {}
    return bool(row.get("NumRestarts"))


class Cluster:
    """Mixed into the engine; needs the reporter of the process."""

    def nodes(self: Any) -> list[dict[str, Any]]:
        return list(ray.nodes())

    def cluster_resources(self: Any) -> dict[str, float]:
        return dict(ray.cluster_resources())

    def available_resources(self: Any) -> dict[str, float]:
        return dict(ray.available_resources())

    def request_resources(
        self: Any,
        num_cpus: int | None,
        bundles: list[dict[str, float]] | None,
        bundle_labels: list[dict[str, str]] | None,
    ) -> bool:
        """Ray's autoscaler notes it; whether there is one, probe() tells."""
        ask = importlib.import_module("nbaccel_in_ray.tables").request_resources
        if self.through_client:
            ray.get(ray.remote(num_cpus=0)(ask).remote(num_cpus, bundles, bundle_labels))
        else:
            ask(num_cpus, bundles, bundle_labels)
        return True

    # ---- who runs here

    def context(self: Any) -> Facts:
        return Facts(self)

    def current_actor(self: Any) -> Any:
        if not self.in_worker or ray.get_runtime_context().get_actor_id() is None:
            raise RuntimeError("This code does not run in an actor.")
        return self.actor_handle(ray.get_runtime_context().current_actor)

    def exit_actor(self: Any) -> None:
        if not self.in_worker or ray.get_runtime_context().get_actor_id() is None:
            raise TypeError("exit_actor() was called, but this code does not run in an actor.")
        ray.actor.exit_actor()

    def report_progress(self: Any, done: float, total: float) -> None:
        if self.in_worker:
            self.reporting.reporter.progress(float(done), float(total))

    def add_node(self: Any, options: dict[str, Any]) -> str:
        raise exceptions.EngineError(
            "Nodes join a Ray cluster by `ray start --address=host:6379` on the machine. For tests on one machine "
            "there is nbaccel.cluster_utils.Cluster(engine='ray')."
        )

    def remove_node(self: Any, node_id: str) -> None:
        raise exceptions.EngineError(
            f"Node {node_id} is Ray's: stop it with `ray stop` there. nbaccel removes virtual nodes only."
        )


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
