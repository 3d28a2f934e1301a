"""The Ray engine: keeps the engine's promise with Ray, for programs that need more than one machine.

```
 notebook kernel                              Ray's cluster (nodes may have nothing but Ray)
 api, handles ─► RayEngine ─► ray.remote ───► worker: nbaccel_in_ray.wrapping ─► the user's code
                    │                                      │ notes, in batches, while somebody watches
                    └── watching ◄── collector (one service actor for each job) ◄─┘
                          snapshot ◄── node agents (metrics, logs), Ray's tables of nodes, actors and workers
```
Read in this order: starting (shipping), session, driver, tasks and actors (choosing, exports,
options_for_ray), objects (errors), reports, snapshots, ray_answers, watching (output, notices).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbaccel.engine import VirtualNodes
    from nbaccel.handles.options import InitOptions
    from nbaccel.handles.refs import DynamicObjectRefGenerator, ObjectRef
    from nbaccel.handles.remote import ActorHandle
    from nbaccel.ray_engine.driver import RayEngine
    from nbaccel.ray_engine.rays import RaysActor, RaysRef


def start(options: InitOptions) -> RayEngine:
    """Start a Ray on this machine, or join the one that `address` names.

    Raises ImportError when Ray is missing or another version, ConnectionError when nothing answers at the address.
    """
    from nbaccel.ray_engine import starting
    from nbaccel.views import sinks

    steps = sinks.installed.starting("Ray", starting.planned(options))
    with steps, starting.kept_back(options) as kept:
        address, ours = starting.connect(options, steps, kept)
        steps.next()
        from nbaccel.ray_engine.driver import RayEngine

        engine = RayEngine(options, address, ours=ours, lines_of_start=kept.lines)
        engine.begin_news()
        engine.serve_observers()
        steps.found(starting.devices_found(engine.cluster_resources()))
        steps.hint = kept.hint()
    return engine


def of_this_worker() -> RayEngine:
    """The engine inside a process that Ray has started."""
    from nbaccel.ray_engine import driver

    return driver.of_this_worker()


def new_virtual_nodes() -> VirtualNodes:
    """A Ray of several nodes on this machine, for cluster_utils. Raises ImportError as `start` does."""
    from nbaccel.ray_engine import starting

    starting.import_ray()
    from nbaccel.ray_engine.starting import RayNodes

    return RayNodes()


def wrapped_ref(inner: RaysRef) -> ObjectRef[object]:
    """nbaccel's ref around a ref of Ray, in any process."""
    from nbaccel.handles.refs import ObjectRef

    return ObjectRef(inner.binary(), _here(), inner)


def wrapped_refs(inner: list[RaysRef]) -> DynamicObjectRefGenerator:
    """nbaccel's list of refs, as a task with num_returns="dynamic" returns it."""
    from nbaccel.handles.refs import DynamicObjectRefGenerator

    return DynamicObjectRefGenerator([wrapped_ref(each) for each in inner])


def wrapped_actor(inner: RaysActor) -> ActorHandle:
    """nbaccel's handle around one of Ray's."""
    return _here().actor_handle(inner)


def refuse_returned(name: str, value: object, error: Exception) -> None:
    """Raise the error of a returned value that cannot be pickled again, naming the part to blame."""
    from nbaccel.ray_engine.submission import errors

    errors.refuse_returned(name, value, error)


def _here() -> RayEngine:
    from nbaccel import engine as engines
    from nbaccel.ray_engine.driver import RayEngine

    started = engines.started()
    if isinstance(started, RayEngine):
        return started
    if engines.is_forked():
        return engines.out_of_reach()  # type: ignore[no-any-return]
    return of_this_worker()  # also in Ray Client's server, which unpickles arguments
