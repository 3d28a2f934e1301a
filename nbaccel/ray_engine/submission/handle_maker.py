"""nbaccel's refs, streams and actor handles around Ray's own."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from typing import Any

import ray

from nbaccel.engine import Engine
from nbaccel.handles import option_checks
from nbaccel.handles.options import MethodOptions
from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator
from nbaccel.handles.remote import ActorClass, ActorHandle, MethodSpec, arity_of
from nbaccel.ray_engine.rays import RaysActor, RaysRef, RaysStream

RAYS_OWN_METHODS = ("__ray_terminate__", "__ray_ready__", "__ray_call__")


class HandleMaker:
    """Makes handles that belong to one engine."""

    def __init__(self, engine: Engine, *, through_client: bool) -> None:
        self.engine = engine
        self._through_client = through_client

    def ref(self, inner: RaysRef, cell: bytes | None = None) -> ObjectRef[object]:
        """`cell`: the notebook message whose cell has submitted the task."""
        return ObjectRef(inner.binary(), self.engine, inner, cell)

    def stream(self, inner: RaysStream, cell: bytes) -> ObjectRefGenerator:
        return ObjectRefGenerator(inner.completed().task_id().binary(), self.engine, inner, cell)

    def actor_made(self, inner: RaysActor, running: ActorClass) -> ActorHandle:
        """The handle of an actor of this class that was just made."""
        actor_id = inner._actor_id.binary()
        return ActorHandle(actor_id, running._name, running._methods, self.engine, counted=False, inner=inner)

    def actor(self, inner: RaysActor) -> ActorHandle:
        """The handle of an actor that anybody may have made."""
        if self._through_client:  # Ray Client's handles know the names of methods only
            class_name, methods = "Actor", {name: _bare_spec(name) for name in dir(inner)}
        else:
            class_name, methods = _described(inner)
        for name in RAYS_OWN_METHODS:
            methods[name] = _bare_spec(name)
        return ActorHandle(inner._actor_id.binary(), class_name, methods, self.engine, counted=False, inner=inner)


def _described(inner: ray.actor.ActorHandle) -> tuple[str, dict[str, MethodSpec]]:
    """The name of the class and its methods."""
    qualified = inner._ray_actor_creation_function_descriptor.class_name
    internal = importlib.import_module("nbaccel_in_ray.internals").is_marked(qualified)
    own = (name for name in inner._ray_method_signatures if name != DECLARED)
    return qualified.rpartition(".")[2], {name: _spec(name, inner, internal=internal) for name in own}


def _anything(*args: object, **kwargs: object) -> None:
    """Has the signature that takes everything."""


def _bare_spec(name: str) -> MethodSpec:
    return MethodSpec(name, MethodOptions(), arity_of(_anything))


def _spec(name: str, inner: ray.actor.ActorHandle, *, internal: bool) -> MethodSpec:
    """A method as Ray's handle knows it."""
    signature = inspect.Signature(parameters=inner._ray_method_signatures[name])
    function = lambda *args, **kwargs: None  # noqa: E731
    function.__signature__ = signature  # type: ignore[attr-defined]
    returns = inner._ray_method_num_returns.get(name)
    is_generator = bool(inner._ray_method_is_generator.get(name))
    options = MethodOptions(num_returns=returns) if returns not in (None, 1) else MethodOptions()
    return MethodSpec(name, options, arity_of(function), False, is_generator, internal=internal)


# ---- the concurrency groups of an actor, known to all of its handles: Ray ends the actor's process for a wrong name
#
# Ray's handles carry the signatures of the methods wherever they go, so a method that nobody calls has the names.


DECLARED = "__nbaccel_groups__"
_MARK = "__ray_concurrency_group__"


def declare_groups(cls: type, groups: Iterable[str]) -> None:
    """Before Ray looks at the class. Ray also fails where a method is marked with a group that is not there."""
    known = tuple(groups)

    def declared(self: object, names: tuple[str, ...] = known) -> None: ...

    setattr(cls, DECLARED, declared)
    for method in vars(cls).values():
        if getattr(method, _MARK, None) not in (None, *known):
            delattr(method, _MARK)


def check_group(inner: Any, class_name: str, group: str) -> None:
    """Raises ValueError where this actor has no such group. Of an actor that Ray's own API made, nothing is known."""
    signature = getattr(inner, "_ray_method_signatures", {}).get(DECLARED)
    if signature is not None:
        option_checks.group_of_calls(group, class_name, signature[0].default)
