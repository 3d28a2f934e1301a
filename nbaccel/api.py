"""The functions that users call: they check their arguments once, here, and ask the engine.

Names, options and meanings are those of Ray Core; a docstring names each difference.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Literal, Never, TypeVar, Unpack, overload

from nbaccel import addresses, exceptions, read_only_arrays
from nbaccel import engine as engines
from nbaccel.handles import option_checks
from nbaccel.handles.code_facts import CodeFacts
from nbaccel.handles.option_checks import hides_by_variable, hides_in, is_number, streams_only_generators, with_article
from nbaccel.handles.options import actor_options, init_options, method_options, task_options
from nbaccel.handles.remote import (
    ActorClass,
    ActorHandle,
    ActorMethod,
    ObjectRef,
    ObjectRefGenerator,
    RemoteFunction,
    yields,
)
from nbaccel.job_config import JobConfig
from nbaccel.views import notebook_hooks
from nbaccel.views.snapshot import Snapshot
from nbaccel.views.task_filter import FoundTasks, TaskFilter
from nbaccel.waits import interruptible

if TYPE_CHECKING:
    from nbaccel.handles.keywords import ClassKeywords, FunctionKeywords, MethodKeywords, RemoteKeywords
    from nbaccel.handles.signatures import (
        ActorDecorator,
        AnyClass,
        Dynamic,
        MarkedMethod,
        MethodDecorator,
        Q,
        Refs,
        RemoteDecorator,
        ReturningMethodDecorator,
        Stream,
        TaskDecorator,
        X,
        Y,
    )

# mypy: disable-error-code="overload-overlap"


T = TypeVar("T")
Ref = TypeVar("Ref", bound=ObjectRef[Any])
Waitable = TypeVar("Waitable", bound=ObjectRef[Any] | ObjectRefGenerator[Any])


# What Ray calls the facts of a cluster's address, and what RuntimeContext's engine calls them.
_ADDRESS_INFO = {
    "address": "address",
    "gcs_address": "address",
    "node_id": "node_id",
    "session_name": "session_name",
    "session_dir": "session_dir",
}


class ClusterContext(Mapping[str, Any]):
    """The result of init(): a notebook shows it as a card of the cluster, code reads its attributes. Used in a `with`
    block, it calls shutdown() at the end.
    """

    def __init__(self, facts: CodeFacts) -> None:
        self.address_info: dict[str, Any] = {name: getattr(facts, fact) for name, fact in _ADDRESS_INFO.items()} | {
            "webui_url": None
        }
        self.dashboard_url: str | None = None
        self.ray_version = engines.RAY_VERSION  # whose names and meanings these are
        self.ray_commit = ""
        self.python_version: str = "{}.{}.{}".format(*sys.version_info)

    def __getitem__(self, key: str) -> Any:
        return self.address_info[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.address_info)

    def __len__(self) -> int:
        return len(self.address_info)

    def __enter__(self) -> ClusterContext:
        return self

    def __exit__(self, *exc: object) -> None:
        shutdown()

    def disconnect(self) -> None:
        shutdown()

    def __repr__(self) -> str:
        if not is_initialized():
            return "nbaccel: shut down"
        return notebook_hooks.connected().card_as_text(snapshot())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if not is_initialized():
            return {"text/plain": "nbaccel: shut down"}
        return notebook_hooks.connected().card(snapshot())


def initialise(address: str | None, given: Mapping[str, Any]) -> ClusterContext:
    """What `init` does once this module is imported."""
    job = given.get("job_config")
    keywords = job.keywords(dict(given)) if isinstance(job, JobConfig) else dict(given)
    options = init_options(**joined_with(address, keywords))
    started = engines.started()
    if started is not None and started.lost():
        shutdown()  # nothing is left of that cluster
    if (started := engines.started()) is not None:
        if options.ignore_reinit_error:
            return _context(started)
        raise RuntimeError(
            "nbaccel is running already: init() was called twice. Call nbaccel.shutdown() first, or pass "
            "ignore_reinit_error=True to use the running cluster."
        )
    from nbaccel.waits import stopping

    stopping.set_policy(options.on_interrupt)
    if hasattr(options.logging_config, "apply"):
        options.logging_config.apply()
    _attach_to_notebook()
    target = options.notify or option_checks.command("NBACCEL_NOTIFY", os.environ.get("NBACCEL_NOTIFY") or None)
    read_only_arrays.hint_in_scripts()
    engine = engines.start(addresses.engine_of(options), options)
    if target:
        from nbaccel import notifying

        notifying.EndNotices(engine, target, options.notify_after_s)
    return _context(engine)


def _attach_to_notebook() -> None:
    """Connect to IPython, with or without `%load_ext nbaccel`: cells are known, output reaches its cell."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        notebook_hooks.connected().attach()


def _context(engine: engines.Engine) -> ClusterContext:
    return ClusterContext(engine.context())


def shutdown(*, wait_for_processes: bool = False, _exiting_interpreter: bool = False) -> None:
    """Leave the cluster. A cluster that init() started ends with all its processes. Calling this twice is safe.

    It returns after the processes have ended, whatever Ray's `wait_for_processes` says.

    >>> nbaccel.shutdown()
    >>> nbaccel.is_initialized()
    False
    """
    engine = engines.started()
    if engine is None or engine.context().is_worker:
        return  # a task's part of the cluster ends with the task
    engines.report_end(engine)
    try:
        engine.shutdown()
    finally:
        engines.adopt(None)


def is_initialized() -> bool:
    """Whether init() has been called, or this code runs inside a task.

    >>> nbaccel.is_initialized()
    True
    """
    return engines.started() is not None


# ---- functions and classes


@overload
def remote(code: AnyClass, /) -> ActorClass[Any, AnyClass]: ...
@overload
def remote(code: Callable[Q, Never], /) -> RemoteFunction[Q, Any]: ...
@overload
def remote(code: Callable[Q, Iterator[Y]], /) -> RemoteFunction[Q, Iterator[Y], ObjectRefGenerator[Y]]: ...
@overload
def remote(code: Callable[Q, X], /) -> RemoteFunction[Q, X]: ...
@overload
def remote(**options: Unpack[RemoteKeywords]) -> RemoteDecorator: ...
@overload
def remote(*, num_returns: None = None, **options: Unpack[FunctionKeywords]) -> RemoteDecorator: ...
@overload
def remote(*, num_returns: Literal[0], **options: Unpack[FunctionKeywords]) -> TaskDecorator[None]: ...
@overload
def remote(*, num_returns: Literal[1], **options: Unpack[FunctionKeywords]) -> RemoteDecorator: ...
@overload
def remote(*, num_returns: Literal["streaming"], **options: Unpack[FunctionKeywords]) -> TaskDecorator[Stream]: ...
@overload
def remote(*, num_returns: Literal["dynamic"], **options: Unpack[FunctionKeywords]) -> TaskDecorator[Dynamic]: ...
@overload
def remote(*, num_returns: int, **options: Unpack[FunctionKeywords]) -> TaskDecorator[Refs]: ...
@overload
def remote(**options: Unpack[ClassKeywords]) -> ActorDecorator: ...
def remote(*args: Any, **options: Any) -> Any:
    """Turn a function into a remote function, or a class into an actor class; use it bare or with options.

    >>> @nbaccel.remote(num_gpus=0.5)
    ... def train(batch): ...
    >>> ref = train.remote(3)
    """
    if len(args) == 1 and not options and _is_code(args[0]):
        return _made_remote(args[0], {})
    # Both are AssertionErrors in Ray.
    if args:
        raise AssertionError(
            "The @remote decorator is applied bare (@remote) or with keyword options (@remote(num_gpus=1)) to a "
            "function or class; "
            f"it got {_short(args[0])}."
        )
    if not options:
        raise AssertionError("@remote() has no options: write @remote, or name an option such as @remote(num_gpus=1).")
    return lambda code: _made_remote(code, options)


def _is_code(thing: Any) -> bool:
    return inspect.isclass(thing) or callable(thing)


def _made_remote(code: Any, options: dict[str, Any]) -> RemoteFunction | ActorClass:
    if isinstance(code, (RemoteFunction, ActorClass)):
        raise TypeError(f"{code!r} is remote already: apply @remote once, and change options with .options(...).")
    if inspect.isclass(code):
        return ActorClass(code, actor_options(**options))
    if callable(code):
        return RemoteFunction(code, task_options(**options))
    raise TypeError(f"The @remote decorator makes functions and classes remote, not {type(code).__name__} objects.")


@overload
def method(method: Callable[Concatenate[Any, Q], Never], /) -> MarkedMethod[Q, Any]: ...
@overload
def method(
    method: Callable[Concatenate[Any, Q], Coroutine[Any, Any, X]], /
) -> MarkedMethod[Q, Coroutine[Any, Any, X], ObjectRef[X]]: ...
@overload
def method(
    method: Callable[Concatenate[Any, Q], Iterator[Y]], /
) -> MarkedMethod[Q, Iterator[Y], ObjectRefGenerator[Y]]: ...
@overload
def method(
    method: Callable[Concatenate[Any, Q], AsyncIterator[Y]], /
) -> MarkedMethod[Q, AsyncIterator[Y], ObjectRefGenerator[Y]]: ...
@overload
def method(method: Callable[Concatenate[Any, Q], X], /) -> MarkedMethod[Q, X]: ...
@overload
def method(*, num_returns: None = None, **options: Unpack[MethodKeywords]) -> MethodDecorator: ...
@overload
def method(*, num_returns: Literal[0], **options: Unpack[MethodKeywords]) -> ReturningMethodDecorator[None]: ...
@overload
def method(*, num_returns: Literal[1], **options: Unpack[MethodKeywords]) -> MethodDecorator: ...
@overload
def method(
    *, num_returns: Literal["streaming"], **options: Unpack[MethodKeywords]
) -> ReturningMethodDecorator[Stream]: ...
@overload
def method(
    *, num_returns: Literal["dynamic"], **options: Unpack[MethodKeywords]
) -> ReturningMethodDecorator[Dynamic]: ...
@overload
def method(*, num_returns: int, **options: Unpack[MethodKeywords]) -> ReturningMethodDecorator[Refs]: ...
def method(*args: Any, **options: Any) -> Any:
    """Decorator for methods of actor classes: num_returns, concurrency_group, max_task_retries, retry_exceptions.

    >>> @nbaccel.method(num_returns=2)
    ... def halves(self): ...
    """
    bare = len(args) == 1 and not options and callable(args[0])
    if args and not bare:
        raise AssertionError(
            f"@method takes keyword options, for example @method(num_returns=2), but got {_short(args[0])}."
        )
    checked = method_options(**options)

    def mark(function: Any) -> Any:
        name = getattr(function, "__qualname__", repr(function))
        streams_only_generators(checked.num_returns, yields(function), name)
        function.__nbaccel_method__ = checked
        return function

    return mark(args[0]) if bare else mark


# ---- objects


@overload
def get(object_refs: ObjectRef[T], *, timeout: float | None = None, progress: bool = False) -> T: ...
@overload
def get(object_refs: list[ObjectRef[T]], *, timeout: float | None = None, progress: bool = False) -> list[T]: ...
@overload
def get(object_refs: list[Ref], *, timeout: float | None = None, progress: bool = False) -> list[Any]: ...
@overload
def get(object_refs: ObjectRefGenerator[T], *, timeout: float | None = None) -> ObjectRefGenerator[T]: ...
def get(
    object_refs: Any, *, timeout: float | None = None, _use_object_store: bool = False, progress: bool = False
) -> Any:
    """Wait for a ref, or for each ref of a list, and return its value.

    `timeout` is in seconds; 0 does not wait. Raises the error of the task (an instance of both RayTaskError and the
    task's own exception class), GetTimeoutError, or the error that ended the worker. Large numpy arrays are read-only
    views of shared memory.

    >>> nbaccel.get([nbaccel.put(1), nbaccel.put(2)], timeout=30)
    [1, 2]
    """
    if isinstance(object_refs, ObjectRefGenerator):
        return object_refs
    if timeout == -1:  # Ray's other word for no timeout
        timeout = None
    _check_timeout(timeout)
    engine = engines.current()
    refs = [object_refs] if isinstance(object_refs, ObjectRef) else object_refs
    if not isinstance(refs, list):
        raise ValueError(
            f"Invalid type of object refs, {type(refs)}, is given. 'object_refs' must either be an ObjectRef or a "
            f"list of ObjectRefs.{_submit_first(refs)}"
        )
    for ref in refs:
        if not isinstance(ref, ObjectRef):
            raise TypeError(
                f"Invalid type of object refs: get() takes ObjectRefs, but the list holds "
                f"{with_article(type(ref).__name__)}: {_short(ref)}, which is not an ObjectRef.{_submit_first(ref)}"
            )
    if progress:
        _show_progress(refs)
    values = _stoppable(lambda: engine.get(refs, timeout), refs)
    return values if refs is object_refs else values[0]


def _stoppable(wait: Callable[[], T], waited: list[Any]) -> T:
    """Wait. The Stop button ends the wait and, in a notebook, cancels the tasks that were waited for."""
    if engines.cell_source is not None and threading.current_thread() is not threading.main_thread():
        from nbaccel.waits import stopping

        return stopping.wait_in_thread(wait, waited)
    try:
        return wait()
    except KeyboardInterrupt:
        from nbaccel.waits import stopping

        stopping.waiting_was_stopped(waited)
        raise


def _show_progress(refs: list[ObjectRef[Any]]) -> None:
    from nbaccel.waits.progress_bar import progress as show

    show(refs)


def _check_timeout(timeout: Any) -> None:
    if timeout is None:
        return
    if not is_number(timeout):
        raise TypeError(f"timeout must be a number of seconds, not {timeout!r}.")
    if not timeout >= 0:  # nan too, which would wait forever
        raise ValueError(f"The 'timeout' argument must be nonnegative. Received {timeout}")


def _submit_first(value: object) -> str:
    """What to do if a function or a method is given in place of the ref that submitting it returns."""
    return " Submit it first: get(….remote(…))." if isinstance(value, (RemoteFunction, ActorMethod)) else ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def put(value: T, *, _owner: Any = None, _tensor_transport: Any = None) -> ObjectRef[T]:
    """Put a value into the cluster's store and return its ref. Raises TypeError for a ref and for a value that cannot
    be pickled.

    >>> rows = nbaccel.put([1, 2, 3])             # stored once, however many tasks get it
    >>> nbaccel.get(rows)
    [1, 2, 3]
    """
    if isinstance(value, ObjectRef):
        raise TypeError(
            "Calling 'put' on an ObjectRef is not allowed: it is in the store already. Wrap it in a list if you "
            "mean to store the ref."
        )
    return engines.current().put(value)


def ensure_started() -> None:
    """Start a cluster with init()'s defaults if there is none yet, as `f.remote()` does."""
    engines.current()


def wait(
    ray_waitables: list[Waitable], *, num_returns: int = 1, timeout: float | None = None, fetch_local: bool = True
) -> tuple[list[Waitable], list[Waitable]]:
    """Wait until `num_returns` refs are ready or `timeout` seconds have passed: (ready, not ready), in order.

    >>> ready, rest = nbaccel.wait([nbaccel.put(x) for x in range(3)], num_returns=2)
    >>> len(ready), len(rest)
    (2, 1)
    """
    refs = ray_waitables
    if isinstance(refs, ObjectRef):  # type: ignore[unreachable]
        raise TypeError("wait() expected a list of ObjectRefs, got a single ObjectRef")
    if isinstance(refs, ObjectRefGenerator):  # type: ignore[unreachable]
        raise TypeError("wait() expected a list of ObjectRefs or ObjectRefGenerators, got a single ObjectRefGenerator")
    if not isinstance(refs, list):
        raise TypeError(f"wait() expected a list of ObjectRefs, got {type(refs)}")
    _check_timeout(timeout)
    for kind in set(map(type, refs)):
        if not issubclass(kind, (ObjectRef, ObjectRefGenerator)):
            raise TypeError(f"wait() expected a list of ObjectRefs, got a list containing {kind}")
    if not refs:
        return [], []
    if len(refs) != len(set(refs)):
        raise ValueError("Wait requires a list of unique ObjectRefs.")
    if not is_number(num_returns) or num_returns != int(num_returns):
        raise TypeError(f"num_returns must be a whole number, not {num_returns!r}.")
    num_returns = int(num_returns)
    if num_returns <= 0:
        raise ValueError(f"Invalid number of objects to return {num_returns}.")
    if num_returns > len(refs):
        raise ValueError("num_returns cannot be greater than the number of objects provided to wait().")
    return _waited(refs, num_returns, timeout, fetch_local)


def _waited(refs: list[Any], num_returns: int, timeout: float | None, fetch: bool) -> tuple[list[Any], list[Any]]:
    engine = engines.current()
    if not any(issubclass(kind, ObjectRefGenerator) for kind in set(map(type, refs))):
        return _stoppable(lambda: engine.wait(refs, num_returns, timeout, fetch), refs)
    return _stoppable(lambda: _wait_mixed(engine, refs, num_returns, timeout), refs)


def _wait_mixed(
    engine: engines.Engine, things: list[Any], num_returns: int, timeout_s: float | None
) -> tuple[list[Any], list[Any]]:
    """wait() for refs and streams. A stream is ready when its next item is ready."""
    ready: set[int] = set()
    changed = threading.Condition()

    def arrived(place: int) -> None:
        with changed:
            ready.add(place)
            changed.notify_all()

    for place, thing in enumerate(things):
        if isinstance(thing, ObjectRefGenerator):
            engine.when_next_item(thing, partial(arrived, place))
        else:
            engine.call_when_ready(thing, partial(arrived, place))
    with changed:
        interruptible.until(partial(changed.wait_for, lambda: len(ready) >= num_returns), timeout_s)
        chosen = [place for place in range(len(things)) if place in ready][:num_returns]
    return [things[i] for i in chosen], [thing for i, thing in enumerate(things) if i not in set(chosen)]


def cancel(
    ray_waitable: ObjectRef[Any] | ObjectRefGenerator[Any], *, force: bool = False, recursive: bool = True
) -> None:
    """Cancel the task of a ref: a waiting task never runs, a running task gets a KeyboardInterrupt, and `force` kills
    the worker.

    `get` then raises TaskCancelledError. Raises TypeError for anything but a ref or stream, ValueError for force on an
    actor's task.

    >>> @nbaccel.remote
    ... def endless():
    ...     while True: pass
    >>> ref = endless.remote()
    >>> nbaccel.cancel(ref)
    >>> nbaccel.get(ref)
    Traceback (most recent call last):
    nbaccel.exceptions.TaskCancelledError: ...
    """
    if not isinstance(ray_waitable, (ObjectRef, ObjectRefGenerator)):
        raise TypeError(f"cancel() only supported for object refs or streams, got: {type(ray_waitable)}.")
    engines.current().cancel(ray_waitable, force=bool(force), recursive=bool(recursive))


def kill(actor: ActorHandle[Any] | object, *, no_restart: bool = True) -> None:  # or an ActorProxy: any class
    """End an actor immediately; its unfinished calls fail with ActorDiedError.

    >>> @nbaccel.remote
    ... class Counter:
    ...     def value(self): return 3
    >>> counter = Counter.remote()
    >>> nbaccel.kill(counter)
    >>> nbaccel.get(counter.value.remote())
    Traceback (most recent call last):
    nbaccel.exceptions.ActorDiedError: ...
    """
    if not isinstance(actor, ActorHandle):
        raise ValueError(f"kill() only supported for actors. Got: {type(actor)}." + _kill_hint(actor))
    engines.current().kill(actor, no_restart=bool(no_restart))


def _kill_hint(thing: Any) -> str:
    return " To stop a task, use cancel(ref)." if isinstance(thing, ObjectRef) else ""


def get_actor(name: str, namespace: str | None = None) -> ActorHandle:
    """Return a handle of a named actor. Raises ValueError if the namespace has no actor of that name.

    As in Ray, this handle does not keep the actor alive. The handle that started the actor and its copies do; to keep
    an actor alive without them, start it with `lifetime="detached"`.

    >>> @nbaccel.remote
    ... class Counter:
    ...     def value(self): return 3
    >>> kept = Counter.options(name="counter").remote()
    >>> nbaccel.get(nbaccel.get_actor("counter").value.remote())
    3
    """
    if not name:
        raise ValueError("Please supply a non-empty value to get_actor")
    if not isinstance(name, str):
        raise TypeError(f"get_actor takes the actor's name, a string, not {_short(name)}.")
    if namespace is not None and not isinstance(namespace, str):
        raise TypeError(f"namespace must be None or a string, not {_short(namespace)}.")
    if namespace == "":
        raise ValueError('"" is not a valid namespace: omit the argument to use your own namespace.')
    return engines.current().get_actor(name, namespace)


def get_gpu_ids() -> list[Any]:
    """Ids of the GPUs assigned to this task or actor: numbers, or strings if they are UUIDs. A driver gets [].

    >>> @nbaccel.remote(num_gpus=1)
    ... def mine(): return nbaccel.get_gpu_ids()
    >>> len(nbaccel.get(mine.remote()))
    1
    """
    ids = engines.current().context().accelerator_ids["GPU"]
    return [int(id) if id.isdigit() else id for id in ids]


# ---- cluster


def _started_engine() -> engines.Engine:
    engine = engines.started()
    if engine is None:
        raise exceptions.RaySystemError(engines.why_not_started())
    return engine


def nodes() -> list[dict[str, Any]]:
    """The cluster's nodes, as dicts with Ray's keys (NodeID, Alive, Resources, Labels, …).

    >>> [node["Alive"] for node in nbaccel.nodes()]
    [True]
    """
    return _started_engine().nodes()


def cluster_resources() -> dict[str, float]:
    """The resources of all living nodes, free or not.

    >>> nbaccel.cluster_resources()["GPU"]
    2.0
    """
    return _started_engine().cluster_resources()


def available_resources() -> dict[str, float]:
    """Resources that are currently free.

    >>> nbaccel.available_resources().get("CPU", 0) <= nbaccel.cluster_resources()["CPU"]
    True
    """
    return _started_engine().available_resources()


def timeline(filename: str | None = None) -> list[dict[str, Any]] | None:
    """Chrome trace events of the tasks, on lanes of workers and devices. With a filename, write them there as JSON.

    >>> nbaccel.timeline("trace.json")            # open it in Perfetto
    """
    import json

    events = list(_started_engine().timeline())
    if filename is None:
        return events
    with open(filename, "w") as file:
        json.dump(events, file)
    return None


def snapshot() -> Snapshot:
    """The state of the cluster that every view shows; of a large one it has some rows, and counts of all.

    >>> [device.id for device in nbaccel.snapshot().devices]
    ['0', '1']
    """
    return _started_engine().snapshot()


def publish(
    kind: str,
    id: str,
    record: Mapping[str, Any] | None,
    asked: Callable[[str], object] | None = None,
    rows: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Show a record (at most 64 KB of JSON) in every snapshot until this process ends; None withdraws it.

    Another thread calls `asked` with each request that `ask` sends. `rows` that have changed are kept for who asks
    for them (`ReadRows`). Raises ValueError if the record or a row is no JSON or too large.
    """
    _started_engine().publish(kind, id, record, asked, rows)


def ask(id: str, what: str) -> None:
    """Send a request, such as "stop", to the publisher of a record. Raises ValueError if there is no such record."""
    _started_engine().ask(id, what)


# ---- heads that others share


def start_head(*, with_us: bool = False, **options: Any) -> Any:
    """Start a head that others can join (`nbaccel start --head`) and return its SessionRecord. Raises ValueError.

    The head outlives this process, unless `with_us` is true.
    """
    given = joined_with("local", options) | {"address": None}
    return engines.start_shared(init_options(**given), with_us=with_us)


def stop_head(record: Any, force: bool = False) -> bool:
    """Stop a head; return True once it has ended. `force` kills a head that does not answer."""
    from nbaccel.views import observing

    return observing.stop(record, force=force)


def snapshots(record: Any) -> Iterator[Snapshot]:
    """Yield the snapshots of any head of this user as they change. Raises ConnectionError when the head ends."""
    from nbaccel.views import observing

    with observing.connected(record) as observer:
        yield from observer.snapshots()


def observe(record: Any) -> Snapshot:
    """The snapshot of any head of this user, joined or not. Raises ConnectionError."""
    from nbaccel.views import observing

    return observing.snapshot(record)


def head_tasks(record: Any, wanted: TaskFilter) -> FoundTasks:
    """The tasks of a head that pass a filter, out of all tasks that the head knows. Raises ConnectionError."""
    from nbaccel.views import observing

    return observing.tasks(record, wanted)


def end_work(record: Any, kind: str, id: str) -> None:
    """Cancel a "task" of a head, or end an "actor", by its hex id. Raises ConnectionError."""
    from nbaccel.views import observing

    observing.end(record, kind, id)


def head_notes(record: Any) -> list[str]:
    """The last lines of a head's own log. Raises ConnectionError."""
    from nbaccel.views import observing

    return observing.notes(record)


def device_holder(key: str) -> str:
    """The holder of a real device of this machine, of any user: "held by …", or "". `key` is the device's UUID."""
    from nbaccel import leases

    return leases.held_by(key)


# ---- what environment variables say where a call of `init()` says nothing


_OF_ONES_OWN = {"engine", "num_cpus", "num_gpus", "resources", "node_types", "simulate"}


def joined_with(address: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of init() with those of the environment: NBACCEL_ADDRESS, NBACCEL_NODE_TYPES, and Ray's own.

    NBACCEL_ADDRESS counts for a program that gives no address and asks for no engine, resources or node types of its
    own; NBACCEL_NODE_TYPES for one that starts a local head.
    """
    address = address or (None if _OF_ONES_OWN & given.keys() else os.environ.get("NBACCEL_ADDRESS") or None)
    types = os.environ.get("NBACCEL_NODE_TYPES")
    starts_a_head = address in (None, "local") and given.get("engine") in (None, "local")
    ours = {"node_types": types} if types and starts_a_head else {}
    return {**_rays_own(given.get("runtime_env")), **ours, **given, "address": address}


def _rays_own(runtime_env: Any) -> dict[str, Any]:
    """The keywords that Ray's variables set, here or in the workers."""
    return {"hide_unassigned": True} if hides_by_variable(os.environ) or hides_in(runtime_env) else {}


def expect_imports(modules: Sequence[str]) -> None:
    """Tasks and actors will import these modules: workers to come may then have them loaded already. Not in Ray.

    It takes no time and starts no cluster; without one the hint is for the next.
    """
    engines.expect_imports(modules)
