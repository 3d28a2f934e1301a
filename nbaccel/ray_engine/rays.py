"""Types for Ray's objects, as far as nbaccel uses them, a variable that Ray reads, and the package for its workers.

This module does not import Ray: what starts Ray sets its variables first, and says what to type where Ray is missing.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Returned_co = TypeVar("Returned_co", covariant=True)
Keywords = dict[str, object]  # arguments of Ray's `.options()`
Environment = dict[str, Any]  # a runtime environment, as users write it

# With it, Ray sets the visible-devices variable to nothing for what holds no device.
HIDE_UNASSIGNED = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1"}


PACKAGE = Path(__file__).parent / "shipped" / "nbaccel_in_ray"


def import_shipped() -> ModuleType:
    """nbaccel_in_ray, under the name that it has inside Ray's workers."""
    if str(PACKAGE.parent) not in sys.path:
        sys.path.append(str(PACKAGE.parent))
    return importlib.import_module("nbaccel_in_ray")


class RaysId(Protocol):
    """An id of a task, an actor, a placement group."""

    def binary(self) -> bytes: ...
    def hex(self) -> str: ...


class RaysRef(Protocol):
    """A ray.ObjectRef."""

    def binary(self) -> bytes: ...
    def is_nil(self) -> bool: ...
    def task_id(self) -> RaysId: ...
    def _on_completed(self, callback: Callable[[object], None]) -> None: ...


class RaysStream(Protocol):
    """A ray.ObjectRefGenerator."""

    def completed(self) -> RaysRef: ...
    def next_ready(self) -> bool: ...
    def _next_sync(self, timeout_s: float | None) -> RaysRef: ...


class RaysMethod(Protocol):
    """A method of Ray's handle of an actor."""

    def remote(self, *args: object, **kwargs: object) -> RaysRef: ...


class RaysActor(Protocol):
    """Ray's handle of an actor; the actor's own methods are attributes too."""

    @property
    def _actor_id(self) -> RaysId: ...
    @property
    def __ray_ready__(self) -> RaysMethod: ...


class RaysRemote(Protocol[Returned_co]):
    """Ray's remote function or actor class."""

    def remote(self, *args: object, **kwargs: object) -> Returned_co: ...
    def options(self, **keywords: object) -> RaysRemote[Returned_co]: ...


def is_stream(inner: RaysRef | RaysStream) -> TypeIs[RaysStream]:
    import ray

    return isinstance(inner, ray.ObjectRefGenerator)


RaysResult = RaysRef | list[RaysRef] | RaysStream | None  # the result of a call, depending on num_returns
RaysFunction = RaysRemote[RaysResult]
RaysClass = RaysRemote[RaysActor]


class Bound(Protocol):
    """An object with `.remote(…)`: Ray's remote function with its options, or a replacement of it."""

    def remote(self, *args: object, **kwargs: object) -> RaysResult: ...
