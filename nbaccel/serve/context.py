"""What code in a replica can ask: which replica it is, and which request it answers."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from nbaccel.serve.exceptions import RayServeException


@dataclass(frozen=True)
class ReplicaContext:
    """The replica that the running code is in."""

    app_name: str
    deployment: str
    replica_tag: str
    servable_object: Any
    rank: int
    world_size: int
    code_version: str = ""


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """The request that the running code answers."""

    request_id: str
    multiplexed_model_id: str = ""


replica: ContextVar[Callable[[], ReplicaContext]] = ContextVar("replica")
request: ContextVar[ServedRequest] = ContextVar("request")
_only: list[Callable[[], ReplicaContext]] = []  # of this process, for threads that the user's code has started


def enter(facts: Callable[[], ReplicaContext]) -> None:
    """This context, and threads that have none, belong to the replica."""
    replica.set(facts)
    _only.append(facts)


def leave(facts: Callable[[], ReplicaContext]) -> None:
    if facts in _only:
        _only.remove(facts)


def get_replica_context() -> ReplicaContext:
    """The replica that this code runs in: `.app_name`, `.deployment`, `.replica_tag`, `.servable_object`, `.rank`,
    `.world_size`. Raises RayServeException elsewhere.

    >>> @serve.deployment
    ... def name(_): return serve.get_replica_context().app_name
    >>> handle = serve.run(name.bind(), name="named", route_prefix=None)
    >>> handle.remote(None).result()
    'named'
    >>> serve.delete("named")
    """
    facts = replica.get(None) or (_only[0] if len(_only) == 1 else None)
    if facts is None:
        raise RayServeException("get_replica_context() works in the code of a deployment: there is no replica here.")
    return facts()


def get_multiplexed_model_id() -> str:
    """The model that the request asks for, by `handle.options(multiplexed_model_id=...)` or the header
    `serve_multiplexed_model_id`; "" if it names none.
    """
    now = request.get(None)
    return "" if now is None else now.multiplexed_model_id
