"""The code that nbaccel runs inside Ray's workers. It uses the standard library and ray only: a node may lack all else.

```
  a task's process    wrapping (around the user's code) ─► reporting (a thread, batches) ─┐
  one for each job    service_actors.Collector  ◄─────────────────────────────────────────┘  asked by the driver
  one for each node   service_actors.NodeAgent (device metrics, ends of log files)           asked by the driver
```
On one machine the job's search path brings it to the workers, on other machines the runtime environment does.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import ray

VERSION = "0.2.0"  # nbaccel's version; a test compares the two

_rooms: list[ModuleType | None] = []  # nbaccel.ray_engine after the first search; None if nbaccel is not installed


def received_ref(inner: ray.ObjectRef) -> object:
    """Unpickle a ref: nbaccel's where nbaccel can be imported, else Ray's own."""
    room = nbaccel_here()
    return inner if room is None else room.wrapped_ref(inner)


def received_actor(inner: ray.actor.ActorHandle) -> object:
    """Unpickle an actor handle: nbaccel's where nbaccel can be imported, else Ray's own."""
    room = nbaccel_here()
    return inner if room is None else room.wrapped_actor(inner)


def received_refs(inner: list[ray.ObjectRef]) -> object:
    """Unpickle the result of a task with num_returns="dynamic"; its refs come from `received_ref`."""
    room = nbaccel_here()
    return ray.DynamicObjectRefGenerator(inner) if room is None else room.wrapped_refs(inner)


def let_refs_be_received() -> None:
    """Have this worker pickle the value of num_returns="dynamic", which Ray itself makes, as nbaccel's."""
    from nbaccel_in_ray import internals

    if internals.is_worker():
        context = internals.serialization_context()  # this call makes Ray register its own reducers first
        context._register_cloudpickle_serializer(ray.DynamicObjectRefGenerator, _inner_refs, received_refs)


def _inner_refs(generator: ray.DynamicObjectRefGenerator) -> list[ray.ObjectRef]:
    return list(generator._refs)


def nbaccel_here() -> ModuleType | None:
    """The Ray engine of this process's nbaccel; None on a node that has only Ray.

    Raises RuntimeError if its version is not the driver's.
    """
    if not _rooms:
        _rooms.append(_found())
    return _rooms[0]


def _found() -> ModuleType | None:
    try:
        nbaccel = importlib.import_module("nbaccel")
        room = importlib.import_module("nbaccel.ray_engine")
    except ImportError:  # nbaccel or one of its requirements is missing
        return None
    if nbaccel.__version__ != VERSION:
        raise RuntimeError(
            f"This node has nbaccel {nbaccel.__version__} and the driver has {VERSION}: install the same version on "
            "both, or remove nbaccel from the node (Ray's own refs are used there then)."
        )
    return room
