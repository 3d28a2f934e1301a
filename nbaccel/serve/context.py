"""What code in a replica can ask: which replica it is, which request it answers, and the models that it keeps.

`@serve.multiplexed`: one deployment has many models, of which each replica keeps the last few that were used.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections import OrderedDict
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
    """The model id of the request, from `handle.options(multiplexed_model_id=...)` or the header
    `serve_multiplexed_model_id`; "" without one.
    """
    now = request.get(None)
    return "" if now is None else now.multiplexed_model_id


# ---- models


class _Models:
    """The models of one replica's object, the least recently used first."""

    def __init__(self, load: Callable[[str], Any], most: int) -> None:
        self._load = load
        self._most = most
        self._models: OrderedDict[str, asyncio.Future[Any]] = OrderedDict()

    async def get(self, model_id: str) -> Any:
        """The model; those who ask while it loads wait for the same one. Raises what loading raises."""
        found = self._models.get(model_id)
        if found is None:
            while len(self._models) >= self._most:
                await self._unload(self._models.popitem(last=False)[1])
            found = self._models[model_id] = asyncio.ensure_future(self._load(model_id))
        self._models.move_to_end(model_id)
        try:
            return await asyncio.shield(found)
        except BaseException:
            if found.done() and self._models.get(model_id) is found:
                del self._models[model_id]  # the next one who asks tries again
            raise

    async def _unload(self, loaded: asyncio.Future[Any]) -> None:
        """Let go of a model; its own `__del__` may be async, as in Ray."""
        try:
            model = await loaded
        except Exception:  # whoever asked for it has got this error
            return
        end = getattr(model, "__del__", None)
        if end is not None and inspect.iscoroutinefunction(end):
            await end()


def multiplexed(function: Callable[..., Any] | None = None, max_num_models_per_replica: int = 3) -> Any:
    """Decorate an async method that loads a model by its id: its results are cached by id.

    Each replica keeps at most `max_num_models_per_replica` models (-1: all); the least recently used one goes first. A
    request has its id from `handle.options(multiplexed_model_id=...)` or the header `serve_multiplexed_model_id`, and
    goes first to a replica that had this model lately.

    >>> @serve.deployment
    ... class Models:
    ...     @serve.multiplexed(max_num_models_per_replica=2)
    ...     async def load(self, model_id): return model_id.upper()
    ...     async def __call__(self, _): return await self.load(serve.get_multiplexed_model_id())
    >>> handle = serve.run(Models.bind(), route_prefix=None)
    >>> handle.options(multiplexed_model_id="a").remote(None).result()
    'A'
    >>> serve.delete("default")
    """
    most = max_num_models_per_replica
    if not isinstance(most, int) or (most < 1 and most != -1):
        raise ValueError(f"max_num_models_per_replica is a number of at least 1, or -1 for no limit, not {most!r}.")

    def decorate(decorated: Callable[..., Any]) -> Callable[..., Any]:
        parameters = list(inspect.signature(decorated).parameters) if inspect.isroutine(decorated) else []
        if not inspect.iscoroutinefunction(decorated) or len(parameters) not in (1, 2):
            raise TypeError(f"@serve.multiplexed takes an async method of one model id, not {decorated!r}.")
        return _kept(decorated, most if most > 0 else 1 << 30, is_method=len(parameters) == 2)

    return decorate if function is None else decorate(function)


def _kept(load: Callable[..., Any], most: int, *, is_method: bool) -> Callable[..., Any]:
    name = f"_nbaccel_serve_models_{load.__name__}"

    @functools.wraps(load)
    async def get(*args: Any) -> Any:
        owner: Any = args[0] if is_method else get
        models = owner.__dict__.get(name)
        if models is None:
            models = owner.__dict__[name] = _Models(functools.partial(load, *args[:-1]), most)
        return await models.get(args[-1])

    return get
