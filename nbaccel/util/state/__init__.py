"""The tasks, actors, objects, nodes, workers, placement groups and jobs of the cluster, with their states.

>>> [task.why for task in list_tasks(filters=[("state", "=", "PENDING_NODE_ASSIGNMENT")])]
['waits for 1 GPU: 2 of 2 are held by train (cell [7])']

Questions go to this process's own cluster: `address`, `timeout` and `raise_on_missing_output` are accepted as in
Ray and have no effect. Answers always have all details.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, TypeVar

from nbaccel import engine as engines
from nbaccel.elsewhere import submodules_by_attribute
from nbaccel.handles.remote import ObjectRef
from nbaccel.util.state import row_queries
from nbaccel.util.state.records import (
    ActorState,
    ClusterEventState,
    JobState,
    NodeState,
    ObjectState,
    PlacementGroupState,
    RayStateApiException,
    Record,
    RuntimeEnvState,
    ServerUnavailable,
    TaskState,
    WorkerState,
)
from nbaccel.util.state.row_queries import READERS, Filters, chosen

__getattr__ = submodules_by_attribute(__name__, "api", "common", "exception")

R = TypeVar("R", bound=Record)


def _list(kind: type[R], filters: Filters | None, limit: int) -> list[R]:
    return chosen(kind, READERS[kind](), filters, limit)


def list_tasks(
    address: str | None = None,
    filters: Filters | None = None,
    limit: int = 100,
    timeout: float = 30,
    detail: bool = False,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> list[TaskState]:
    """At most `limit` tasks, running ones first; `why` says why one waits. `filters`: [("state", "=", "RUNNING")].

    >>> failed = list_tasks(filters=[("state", "=", "FAILED")])
    """
    return _list(TaskState, filters, limit)


def list_actors(
    address: str | None = None,
    filters: Filters | None = None,
    limit: int = 100,
    timeout: float = 30,
    detail: bool = False,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> list[ActorState]:
    """Actors, including those that died recently.

    >>> sorted({actor.state for actor in list_actors()} - {"ALIVE", "DEAD"})
    []
    """
    return _list(ActorState, filters, limit)


def list_nodes(
    address: str | None = None,
    filters: Filters | None = None,
    limit: int = 100,
    timeout: float = 30,
    detail: bool = False,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> list[NodeState]:
    """Nodes, including removed ones.

    >>> [node.state for node in list_nodes()]
    ['ALIVE']
    """
    return _list(NodeState, filters, limit)


def list_workers(
    address: str | None = None,
    filters: Filters | None = None,
    limit: int = 100,
    timeout: float = 30,
    detail: bool = False,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> list[WorkerState]:
    """Living worker processes."""
    return _list(WorkerState, filters, limit)


def list_objects(
    address: str | None = None,
    filters: Filters | None = None,
    limit: int = 100,
    timeout: float = 30,
    detail: bool = False,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> list[ObjectState]:
    """Objects that somebody refers to, with their sizes and locations.

    >>> ref = nbaccel.put([1, 2, 3])
    >>> len(list_objects()) >= 1
    True
    """
    return _list(ObjectState, filters, limit)


def list_placement_groups(
    address: str | None = None,
    filters: Filters | None = None,
    limit: int = 100,
    timeout: float = 30,
    detail: bool = False,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> list[PlacementGroupState]:
    """Placement groups, including removed ones.

    >>> pending = list_placement_groups(filters=[("state", "=", "PENDING")])
    """
    return _list(PlacementGroupState, filters, limit)


def list_jobs(
    address: str | None = None,
    filters: Filters | None = None,
    limit: int = 100,
    timeout: float = 30,
    detail: bool = False,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> list[JobState]:
    """Drivers, including those that have ended."""
    return _list(JobState, filters, limit)


def list_runtime_envs(
    address: str | None = None,
    filters: Filters | None = None,
    limit: int = 100,
    timeout: float = 30,
    detail: bool = False,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> list[RuntimeEnvState]:
    """Runtime environments that tasks or actors asked for, and whether they could be made."""
    return _list(RuntimeEnvState, filters, limit)


def list_cluster_events(
    address: str | None = None,
    filters: Filters | None = None,
    limit: int = 100,
    timeout: float = 30,
    detail: bool = False,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> list[dict[str, Any]]:
    """Events that need attention: impossible requests, lost devices, leaks."""
    return [event.asdict() for event in _list(ClusterEventState, filters, limit)]


# ---- one of them


def _one(kind: type[R], column: str, id: str) -> R | None:
    found = chosen(kind, READERS[kind](), [(column, "=", id)], 1)
    return found[0] if found else None


def get_task(
    id: str | ObjectRef[Any], address: str | None = None, timeout: float = 30, _explain: bool = False
) -> TaskState | None:
    """A task by its id or by one of its refs; None if it is unknown or ended long ago.

    >>> @nbaccel.remote
    ... def train(): return 1
    >>> ref = train.remote()
    >>> get_task(ref).name
    'train'
    """
    return _one(TaskState, "task_id", id.task_id().hex() if isinstance(id, ObjectRef) else id)


def get_actor(id: str, address: str | None = None, timeout: float = 30, _explain: bool = False) -> ActorState | None:
    """An actor by its id; None if it is unknown or was forgotten."""
    return _one(ActorState, "actor_id", id)


def get_node(id: str, address: str | None = None, timeout: float = 30, _explain: bool = False) -> NodeState | None:
    """A node by its id; None if it is unknown."""
    return _one(NodeState, "node_id", id)


def get_worker(id: str, address: str | None = None, timeout: float = 30, _explain: bool = False) -> WorkerState | None:
    """A living worker process by its id; None if there is none."""
    return _one(WorkerState, "worker_id", id)


def get_objects(id: str, address: str | None = None, timeout: float = 30, _explain: bool = False) -> list[ObjectState]:
    """The object of this id, in a list, which is empty if it is unknown."""
    return chosen(ObjectState, READERS[ObjectState](), [("object_id", "=", id)], 100)


def get_placement_group(
    id: str, address: str | None = None, timeout: float = 30, _explain: bool = False
) -> PlacementGroupState | None:
    """A placement group by its id; None if it is unknown."""
    return _one(PlacementGroupState, "placement_group_id", id)


def get_job(id: str, address: str | None = None, timeout: float = 30, _explain: bool = False) -> JobState | None:
    """A driver by its job id; None if it is unknown."""
    return _one(JobState, "job_id", id)


# ---- counts


def summarize_tasks(
    address: str | None = None, timeout: float = 30, raise_on_missing_output: bool = True, _explain: bool = False
) -> dict[str, Any]:
    """How many tasks of each function are in each state: {"cluster": {"summary": {name: {"state_counts": …}}, …}}.

    >>> list(summarize_tasks())
    ['cluster']
    """
    return {"cluster": row_queries.of_tasks()}


def summarize_actors(
    address: str | None = None, timeout: float = 30, raise_on_missing_output: bool = True, _explain: bool = False
) -> dict[str, Any]:
    """How many actors of each class are in each state."""
    return {"cluster": row_queries.of_actors()}


def summarize_objects(
    address: str | None = None, timeout: float = 30, raise_on_missing_output: bool = True, _explain: bool = False
) -> dict[str, Any]:
    """How many objects there are, and how large they are together."""
    return {"cluster": row_queries.of_objects()}


# ---- logs

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")


def list_logs(
    address: str | None = None,
    node_id: str | None = None,
    node_ip: str | None = None,
    glob_filter: str | None = None,
    timeout: float = 30,
) -> dict[str, list[str]]:
    """The names of the log files, by the kind of process that wrote them."""
    found: dict[str, list[str]] = {}
    for path in sorted(_log_directory().glob("*")):
        if fnmatch(path.name, glob_filter or "*"):
            kind = "worker_out" if path.name.startswith("worker") else "core_worker"
            found.setdefault(kind, []).append(path.name)
    return found


def get_log(
    address: str | None = None,
    node_id: str | None = None,
    node_ip: str | None = None,
    filename: str | None = None,
    actor_id: str | None = None,
    task_id: str | None = None,
    pid: int | None = None,
    follow: bool = False,
    tail: int = -1,
    timeout: float = 30,
    suffix: str = "out",
    encoding: str | None = "utf-8",
    errors: str | None = "strict",
    submission_id: str | None = None,
    attempt_number: int = 0,
    _interval: float | None = None,
    filter_ansi_code: bool = False,
) -> Iterator[str]:
    """The last `tail` lines (-1: all) of a log file, or of the output of a task's or actor's worker.

    `filter_ansi_code` removes colours and cursor moves. A worker's two outputs are one log, so `suffix` has no effect.
    The logs of all nodes are read here, so `address`, `node_id`, `node_ip` and `timeout` have no effect.

    Raises ValueError when nothing says whose log is wanted, RayStateApiException when there is no such log,
    NotImplementedError for `follow`.
    """
    if follow:
        raise NotImplementedError(
            "get_log(follow=True) is not supported. What tasks print comes to the notebook or script that submitted "
            "them by itself; call get_log() again to read what was written since."
        )
    for text in _log_texts(filename, actor_id, task_id, pid, tail):
        yield _ANSI.sub("", text) if filter_ansi_code else text


def _log_texts(
    filename: str | None, actor_id: str | None, task_id: str | None, pid: int | None, tail: int
) -> Iterator[str]:
    if filename is not None:
        yield _tail(_log_directory() / Path(filename).name, tail)
        return
    whose = task_id or actor_id or (_actor_or_task_of(pid) if pid is not None else None)
    if whose is None:
        raise ValueError("get_log() needs to know whose log is wanted: give filename, task_id, actor_id or pid.")
    yield _engine().logs(whose, tail=tail)


def _engine() -> engines.Engine:
    engine = engines.started()
    if engine is None:
        raise ServerUnavailable(engines.why_not_started())
    return engine


def _log_directory() -> Path:
    return Path(_engine().snapshot().runtime.log_dir)


def _tail(path: Path, count: int) -> str:
    try:
        lines = path.read_text(errors="replace").splitlines(keepends=True)
    except FileNotFoundError:
        raise RayStateApiException(
            f"There is no log file {path.name!r}; list_logs() names the existing ones."
        ) from None
    return "".join(lines if count < 0 else lines[len(lines) - count :])


def _actor_or_task_of(pid: int) -> str:
    """The id of the actor or task that this process runs or ran last."""
    for actor in READERS[ActorState]():
        if actor.pid == pid:
            return str(actor.actor_id)
    for task in READERS[TaskState]():
        if task.worker_pid == pid:
            return str(task.task_id)
    raise RayStateApiException(f"No known task or actor ran in process {pid}.")


__all__ = [
    "get_actor",
    "get_job",
    "get_log",
    "get_node",
    "get_objects",
    "get_placement_group",
    "get_task",
    "get_worker",
    "list_actors",
    "list_cluster_events",
    "list_jobs",
    "list_logs",
    "list_nodes",
    "list_objects",
    "list_placement_groups",
    "list_runtime_envs",
    "list_tasks",
    "list_workers",
    "summarize_actors",
    "summarize_objects",
    "summarize_tasks",
]
