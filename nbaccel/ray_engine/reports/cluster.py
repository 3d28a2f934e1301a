"""Nodes and resources on Ray, and facts about the running code."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import ray

from nbaccel.handles.code_facts import CodeFacts
from nbaccel.handles.remote import ActorHandle
from nbaccel.quantities import ACCELERATORS
from nbaccel.ray_engine.rays import RaysActor
from nbaccel.ray_engine.session import RaySession, internals
from nbaccel.ray_engine.submission import shipping

OWN_VARIABLES = (shipping.EDITION, shipping.VARIABLE)  # variables that nbaccel adds to runtime environments


class RaysFacts(CodeFacts):
    """Facts about the running code. Each is looked up on request, since some of them ask the cluster."""

    def __init__(self, session: RaySession) -> None:
        self.__dict__.update(_session=session, _context=ray.get_runtime_context())

    _session: RaySession
    _context: ray.runtime_context.RuntimeContext

    @staticmethod
    def _text(id: object) -> str | None:
        return None if id is None else str(id)

    @property
    def job_id(self) -> str:
        return str(self._context.get_job_id())

    @property
    def node_id(self) -> str | None:
        return self._text(self._context.get_node_id())

    @property
    def worker_id(self) -> str:
        return str(self._context.get_worker_id())

    @property
    def namespace(self) -> str:
        return str(self._context.namespace)

    @property
    def runtime_env(self) -> str:
        return _own_environment(self._context.get_runtime_env_string())

    @property
    def placement_group_id(self) -> str | None:
        return self._text(self._context.get_placement_group_id())

    @property
    def session_name(self) -> str:
        return str(internals.session_name())

    @property
    def session_dir(self) -> str:
        return str(internals.temporary_folder())

    @property
    def address(self) -> str:
        return str(self._context.gcs_address)

    @property
    def is_worker(self) -> bool:
        return self._session.in_worker

    @property
    def task_id(self) -> str | None:
        return self._text(self._context.get_task_id()) if self.is_worker else None

    @property
    def task_name(self) -> str | None:
        return self._text(self._context.get_task_name()) if self.is_worker else None

    @property
    def task_function_name(self) -> str | None:
        return self._text(self._context.get_task_function_name()) if self.is_worker else None

    @property
    def actor_id(self) -> str | None:
        return self._text(self._context.get_actor_id()) if self.is_worker else None

    @property
    def actor_name(self) -> str | None:
        return self._text(self._context.get_actor_name() or None) if self.is_worker else None

    @property
    def class_name(self) -> str | None:
        return _class_name(self._session) if self.is_worker else None

    @property
    def accelerator_ids(self) -> dict[str, list[str]]:
        return _accelerator_ids(self._session, self._context) if self.is_worker else {name: [] for name in ACCELERATORS}

    @property
    def assigned_resources(self) -> dict[str, float]:
        return dict(self._context.get_assigned_resources()) if self.is_worker else {}

    @property
    def is_canceled(self) -> bool:
        return self.is_worker and internals.is_cancelled()

    @property
    def fallback_taken(self) -> bool:
        return bool(self.fallback_label)

    @property
    def fallback_label(self) -> str:
        return _choice(self._session) if self.is_worker else ""

    @property
    def attempt(self) -> int:
        return internals.attempt() if self.is_worker else 0

    @property
    def reconstructed(self) -> bool:
        return self.is_worker and _reconstructed(self._context)

    @property
    def captures(self) -> bool:
        return False


def _accelerator_ids(session: RaySession, context: ray.runtime_context.RuntimeContext) -> dict[str, list[str]]:
    given = context.get_accelerator_ids()
    in_order = session.reporting.in_device_order
    return {name: in_order(given.get(name, [])) for name in dict.fromkeys([*ACCELERATORS, *given])}


def _choice(session: RaySession) -> str:
    note = session.reporting.reporter.current()
    return note.get("choice", "") if note is not None else ""


def _class_name(session: RaySession) -> str | None:
    creation = session.reporting.reporter.creation
    return creation["name"].removesuffix(".__init__") if creation is not None else None


def _reconstructed(context: ray.runtime_context.RuntimeContext) -> bool:
    actor_id = context.get_actor_id()
    row = internals.actors(actor_id) if actor_id else {}
    return bool(row.get("NumRestarts"))


class RayCluster:
    """The cluster as one process sees it."""

    def __init__(self, session: RaySession, actor_handle: Callable[[RaysActor], ActorHandle]) -> None:
        self._session = session
        self._actor_handle = actor_handle

    def lost(self) -> str:
        return self._session.head.lost

    def nodes(self) -> list[dict[str, object]]:
        return list(ray.nodes())

    def cluster_resources(self) -> dict[str, float]:
        return dict(ray.cluster_resources())

    def available_resources(self) -> dict[str, float]:
        return dict(ray.available_resources())

    # ---- the running code

    def context(self) -> CodeFacts:
        return RaysFacts(self._session)

    def current_actor(self) -> ActorHandle:
        if not self._session.in_worker or ray.get_runtime_context().get_actor_id() is None:
            raise RuntimeError("This code does not run in an actor.")
        return self._actor_handle(ray.get_runtime_context().current_actor)

    def exit_actor(self) -> None:
        if not self._session.in_worker or ray.get_runtime_context().get_actor_id() is None:
            raise TypeError("exit_actor() was called, but this code does not run in an actor.")
        ray.actor.exit_actor()

    def expect_imports(self, modules: Sequence[str]) -> None:
        """Do nothing: Ray's workers are no forks."""

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
