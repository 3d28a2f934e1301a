"""This process as a member of the cluster, by Ray's private path: `ray._private.worker.global_worker.mode`."""

from __future__ import annotations

from typing import Any

from nbaccel import engine as engines
from nbaccel.api import (
    ClusterContext,
    cancel,
    get,
    get_actor,
    get_gpu_ids,
    is_initialized,
    kill,
    put,
    remote,
    shutdown,
    wait,
)
from nbaccel.handles.ids import ActorID, JobID, NodeID, PlacementGroupID, TaskID
from nbaccel.runtime_context import get_runtime_context
from nbaccel.starting import init
from nbaccel.util.lookup import get_node_ip_address

SCRIPT_MODE, WORKER_MODE, LOCAL_MODE = 0, 1, 2
BaseContext = RayContext = ClusterContext  # what init() returns
blocking_get_inside_async_warned = False  # set by programs that want no warning; none is given here


class Worker:
    """What Ray knows of a process that runs tasks or submits them. Its ids are nil where it has none."""

    @property
    def mode(self) -> int | None:
        """SCRIPT_MODE in a driver, WORKER_MODE in a task or an actor, None before init()."""
        engine = engines.started()
        if engine is None:
            return None
        return WORKER_MODE if engine.context().is_worker else SCRIPT_MODE

    @property
    def connected(self) -> bool:
        return is_initialized()

    @property
    def node_ip_address(self) -> str:
        return get_node_ip_address()

    @property
    def worker_id(self) -> bytes:
        return bytes.fromhex(get_runtime_context().get_worker_id())

    @property
    def current_job_id(self) -> JobID:
        return get_runtime_context().job_id

    @property
    def current_node_id(self) -> NodeID:
        return get_runtime_context().node_id

    @property
    def current_task_id(self) -> Any:
        return get_runtime_context().task_id or TaskID.nil()

    @property
    def current_task_name(self) -> str:
        return get_runtime_context().get_task_name() or ""

    @property
    def actor_id(self) -> Any:
        return get_runtime_context().actor_id or ActorID.nil()

    @property
    def actor_name(self) -> str:
        return get_runtime_context().get_actor_name() or ""

    @property
    def placement_group_id(self) -> Any:
        return get_runtime_context().current_placement_group_id or PlacementGroupID.nil()

    @property
    def should_capture_child_tasks_in_placement_group(self) -> bool:
        return get_runtime_context().should_capture_child_tasks_in_placement_group

    @property
    def namespace(self) -> str:
        return get_runtime_context().namespace

    @property
    def runtime_env(self) -> str:
        return get_runtime_context().get_runtime_env_string()


global_worker = Worker()


def get_dashboard_url() -> None:
    """No address: what Ray's dashboard shows stands in the notebook, see nbaccel.dashboard()."""


__all__ = [
    "LOCAL_MODE",
    "SCRIPT_MODE",
    "WORKER_MODE",
    "BaseContext",
    "RayContext",
    "Worker",
    "blocking_get_inside_async_warned",
    "cancel",
    "get",
    "get_actor",
    "get_dashboard_url",
    "get_gpu_ids",
    "global_worker",
    "init",
    "is_initialized",
    "kill",
    "put",
    "remote",
    "shutdown",
    "wait",
]  # fmt: skip
