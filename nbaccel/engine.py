"""The promise that every engine keeps, and the table of engines.

```
  api, handles ──► current() ──► tasks · objects · streams · cluster · groups · code · views ──► local | ray | debug
```
Nothing above this file knows which engine runs. An engine's module is imported only when it is asked for.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from nbaccel import exceptions
from nbaccel.views import sinks

if TYPE_CHECKING:
    from concurrent.futures import Future

    from msgspec import Struct

    from nbaccel.handles.code_facts import CodeFacts
    from nbaccel.handles.options import ActorOptions, InitOptions, MethodOptions, TaskOptions
    from nbaccel.handles.remote import (
        ActorClass,
        ActorHandle,
        ActorMethod,
        ObjectRef,
        ObjectRefGenerator,
        RemoteFunction,
    )
    from nbaccel.views.explanations import ExpectedGrowth, Explanation, Probe
    from nbaccel.views.observer_lines import Question
    from nbaccel.views.snapshot import ObjectPlaces, OnSnapshot, Snapshot
    from nbaccel.views.task_filter import FoundTasks, TaskFilter

RAY_VERSION = "2.60.0"  # whose names and meanings are kept
Returned = Any  # an ObjectRef, a list of them, an ObjectRefGenerator, or None, as num_returns says

A = TypeVar("A")
ListedRow = TypeVar("ListedRow", bound="Struct")


class TaskPromise(Protocol):
    """Submit remote functions, start actors and call them."""

    def submit(
        self, function: RemoteFunction, options: TaskOptions, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Returned:
        """Run a function; returns at once."""

    def create_actor(
        self, actor_class: ActorClass, options: ActorOptions, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ActorHandle:
        """Start an actor; returns at once."""

    def call(
        self, method: ActorMethod, options: MethodOptions, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Returned:
        """Call an actor's method; returns at once."""

    def cancel(self, ref: ObjectRef[Any] | ObjectRefGenerator, *, force: bool, recursive: bool) -> None: ...

    def kill(self, actor: ActorHandle, *, no_restart: bool) -> None: ...

    def get_actor(self, name: str, namespace: str | None) -> ActorHandle:
        """A named actor. Raises ValueError when there is none."""

    def list_named_actors(self, all_namespaces: bool) -> list[Any]: ...


class ObjectPromise(Protocol):
    """Values and who holds them."""

    def put(self, value: Any) -> ObjectRef[Any]: ...

    def get(self, refs: Sequence[ObjectRef[Any]], timeout_s: float | None) -> list[Any]:
        """The values in order; raises the first error among them, or GetTimeoutError."""

    def wait(
        self, refs: Sequence[ObjectRef[Any]], num_returns: int, timeout_s: float | None, fetch: bool
    ) -> tuple[list[ObjectRef[Any]], list[ObjectRef[Any]]]:
        """(ready, not ready), both in the given order."""

    def fill(self, future: Future[Any], ref: ObjectRef[Any]) -> None:
        """Set the value as the future's result once it has come. Cancelling the future leaves the task alone."""

    def call_when_ready(self, ref: ObjectRef[Any], callback: Callable[[], None]) -> None:
        """Call back from some thread once the value can be got without waiting."""

    def was_awaited(self, ref: ObjectRef[Any]) -> None:
        """A wait for this object was abandoned. If the object becomes an error, do not report the error."""

    def ref_gone(self, id: bytes) -> None:
        """A ref, or a counted handle of an actor, has ended. Called at any moment in any thread, so it takes no lock.

        An engine that must not miss one has a builtin method here (`SafeFinalizer` says why).
        """

    def reduce_ref(self, ref: ObjectRef[Any]) -> tuple[Any, ...]:
        """How a ref is pickled."""

    def reduce_actor(self, actor: ActorHandle) -> tuple[Any, ...]: ...

    def ref_of(self, task_id: str) -> list[ObjectRef[Any]]:
        """Refs to the results of a task that a snapshot shows by this id. Raises ValueError when there are none."""

    def object_locations(self, refs: Sequence[ObjectRef[Any]]) -> list[ObjectPlaces]:
        """For each object: {"node_ids": hex ids of the nodes that have it, "object_size": bytes, "did_spill": bool}."""

    def only_in_history(self, ids: list[bytes]) -> None:
        """Only a notebook's output history still refers to these objects: move them to disk first."""


class StreamPromise(Protocol):
    """Streams of refs."""

    def next_item(self, stream: ObjectRefGenerator, timeout_s: float | None) -> ObjectRef[Any] | None:
        """The next ref of a stream; None at its end. Raises GetTimeoutError."""

    def when_next_item(self, stream: ObjectRefGenerator, callback: Callable[[], None]) -> None: ...

    def close_stream(self, stream: ObjectRefGenerator) -> None:
        """The reader has gone. Called from `__del__`."""

    def stream_end(self, stream: ObjectRefGenerator) -> ObjectRef[Any]:
        """A ref that is ready when the stream's task has ended; `get` of it raises what the task raised."""

    def stream_ready(self, stream: ObjectRefGenerator) -> bool:
        """Whether the next ref is there without waiting."""


class ClusterPromise(Protocol):
    """Nodes, resources, and rows of tasks, actors and other records."""

    name: str

    def nodes(self) -> list[dict[str, Any]]: ...

    def cluster_resources(self) -> dict[str, float]: ...

    def available_resources(self) -> dict[str, float]: ...

    def request_resources(self, num_cpus: int | None, bundles: list[dict[str, float]] | None,
                          bundle_labels: list[dict[str, str]] | None) -> bool:  # fmt: skip
        """Ask the cluster to grow until these bundles fit; False if the cluster cannot grow."""

    def hold_resources(self, id: str, bundles: list[dict[str, float]]) -> bool:
        """Ask for these bundles besides, until this process ends or asks for none with the same id; False as above."""

    def expected_growth(self, bundles: list[dict[str, float]]) -> ExpectedGrowth | None:
        """What a further request for these bundles would bring; None if the cluster cannot grow or does not tell."""

    def move_objects(self, node: str) -> tuple[int, int]:
        """Copy what lies only on the node of this name to the head's node; the objects and their bytes."""

    def timeline(self) -> list[dict[str, Any]]:
        """Chrome trace events."""

    def state(self, kind: type[ListedRow], limit: int) -> list[ListedRow]:
        """At most so many rows of one kind: of those in `views.listed`, or tasks, actors, workers, nodes or alerts."""

    def lost(self) -> str:
        """Why the cluster has gone, if it has ended without this process; "" while it is there."""

    def shutdown(self) -> None: ...


class GroupPromise(Protocol):
    """Placement groups."""

    def create_group(self, bundles: list[dict[str, float]], strategy: str, name: str, detached: bool,
                     bundle_labels: list[dict[str, str]] | None, soft_node: str) -> bytes:  # fmt: skip
        """Ask for a placement group; returns its id at once. `soft_node`: the hex id of a node that is preferred."""

    def group_ready(self, group_id: bytes, value: Any) -> ObjectRef[Any]:
        """A ref to `value` that is ready once the group is placed; fails when the group is removed."""

    def find_group(self, name: str) -> dict[str, Any] | None:
        """The row of the group of this name, as in `group_table`."""

    def remove_group(self, group_id: bytes) -> None: ...

    def why_never_placed(self, bundles: list[dict[str, float]], strategy: str) -> str:
        """Why no placement group of these bundles could ever be placed here; "" if it could, or if nodes may come.
        No group is made."""

    def group_table(self, group_id: bytes | None) -> dict[str, Any]: ...


class CodePromise(Protocol):
    """Questions and reports of the running code about itself."""

    def context(self) -> CodeFacts: ...

    def current_actor(self) -> Any:
        """A handle of the actor that this code runs in. Raises RuntimeError outside of one."""

    def exit_actor(self) -> None:
        """End the actor that this code runs in. Raises TypeError outside of one."""

    def report_progress(self, done: float, total: float) -> None: ...

    def expect_imports(self, modules: Sequence[str]) -> None:
        """A hint that tasks and actors will import these modules, so that workers to come may have them loaded.

        It takes no time, and a module that cannot be imported is no error.
        """


class ViewPromise(Protocol):
    """Questions that views ask."""

    def snapshot(self) -> Snapshot: ...

    def tasks(self, wanted: TaskFilter) -> FoundTasks:
        """All known tasks that pass the filter; a snapshot has only some of them."""

    def explain(self, what: str | None) -> list[Explanation]:
        """Why a task, actor or group (hex id; None: everything) waits."""

    def probe(self, options: TaskOptions) -> Probe:
        """Whether a task with these options could start if it were submitted now."""

    def watch(self, callback: OnSnapshot | None, *, metrics: bool = True, rows: int = 0, reader: str = "view") -> None:
        """Call back, from a thread of the engine's, with each new snapshot and with None at the cluster's end; of an
        engine that has ended, with None at once.

        Several readers may watch beside each other, each under a name of its own: the callback takes the place of the
        reader's last one, and None stops this reader. `metrics` asks for measurements of devices, and `rows` for more
        tasks than a snapshot usually has; what one reader asks for, another may get too.
        """

    def publish(
        self,
        kind: str,
        id: str,
        record: Mapping[str, Any] | None,
        asked: Callable[[str], object] | None = None,
        rows: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Show a record (at most 64 KB of JSON) to whoever looks at the cluster, in place of the one before of this id;
        None withdraws it, and so does this process's end.

        `rows` (each at most 4 KB) are in no snapshot: they are added to those that the record has, or replace them, and
        `history(ReadRows(id))` reads them. What somebody asks of the record comes to `asked`, from a thread of the
        engine's, while other code runs: it returns at once. Raises ValueError for what is too large or no JSON.
        """

    def ask(self, id: str, what: str) -> None:
        """Ask something, such as "stop", of whoever publishes the record of this id. Raises ValueError without one."""

    def logs(self, task_id: str | None, *, tail: int) -> str: ...

    def await_output(self, timeout_s: float) -> None:
        """Wait, at most so long, until what tasks have printed so far has been shown; an engine that cannot tell when
        this is so returns at once."""

    def history(self, asked: Question[A]) -> A:
        """The answer to `ReadRuns`, `ReadAccounting`, `ReadReadings`, `ReadRows`, `ReadTaskLog` or `ReadStack`."""


class ActionPromise(Protocol):
    """Actions that users take in views."""

    def cancel_by_id(self, task_id: str, *, force: bool = False) -> None:
        """Cancel the task that a snapshot shows by this id. Only queues a message: any thread may call it."""

    def retry(self, task_id: str) -> str:
        """Run the call of a failed task once more, as a new task of the same driver; returns the new task's hex id.

        Raises ValueError when the call is not kept.
        """

    def kill_by_id(self, actor_id: str) -> None:
        """End the actor that a snapshot shows by this id. Only queues a message: any thread may call it."""

    def recycle(self) -> int:
        """End the idle processes that have run user code, with everything they keep. Returns their number."""


class Engine(
    TaskPromise,
    ObjectPromise,
    StreamPromise,
    ClusterPromise,
    GroupPromise,
    CodePromise,
    ViewPromise,
    ActionPromise,
    Protocol,
):
    """Everything that callers ask of an engine."""


class VirtualNodes(Protocol):
    """Nodes of a new cluster on this machine, which cluster_utils adds and removes."""

    @property
    def address(self) -> str | None:
        """The address that init() takes; None until there is a head, and after `stop`."""

    @property
    def session(self) -> str:
        """The session's name, by which a driver that has joined is known."""

    def start_head(self, given: dict[str, Any]) -> str:
        """Start the cluster with its first node; returns the node's id."""

    def add(self, given: dict[str, Any]) -> str: ...

    def remove(self, node_id: str, *, graceful: bool) -> None: ...

    def alive(self) -> set[str]: ...

    def are_alive(self) -> bool:
        """Whether no process of the cluster has died by itself."""

    def stop(self) -> None: ...


_ENGINES: dict[str, str] = {
    "local": "nbaccel.local_engine",
    "ray": "nbaccel.ray_engine",
    "debug": "nbaccel.debug_engine",
}
_current: Engine | None = None
_has_ended = False  # a cluster of this process
_forked_from = 0  # the pid of the process whose engine this one must not use, after a fork
_process_ends = False  # Python's atexit has begun: only daemon threads run beside it
_has_foreign = False  # a ref or handle of a cluster that this process was not connected to when it came
_auto_init: Callable[[], object] | None = None
_expected_imports: list[str] = []  # for the engine that is started next
_before_end: list[Callable[[Engine], object]] = []
_INSTEAD = (
    "Call nbaccel in the process that has started the cluster, or submit tasks instead of starting processes "
    "(nbaccel.util.multiprocessing.Pool has the same methods)"
)

# Which notebook cell runs now: (words such as "[7]", its messages' opaque parent). The notebook room sets it.
cell_source: Callable[[], tuple[str, bytes]] | None = None


def start(name: str, options: InitOptions) -> Engine:
    """Import the engine and start or join it. Raises ValueError for an unknown name."""
    global _current, _forked_from, _has_foreign
    if name not in _ENGINES:
        raise ValueError(f"engine={name!r} is unknown; choose one of {', '.join(map(repr, _ENGINES))}.")
    _current = importlib.import_module(_ENGINES[name]).start(options)
    _forked_from, _has_foreign = 0, False
    if _expected_imports:
        _current.expect_imports(_expected_imports)
        _expected_imports.clear()
    return _current


def expect_imports(modules: Sequence[str]) -> None:
    """Tell the engine, or the next one that is started, that tasks and actors will import these modules."""
    if _current is not None:
        _current.expect_imports(modules)
    else:
        _expected_imports.extend(modules)


def start_shared(options: InitOptions, *, with_us: bool = False) -> Any:
    """Start a head of the local engine that outlives this process, or ends `with_us`; returns its SessionRecord."""
    return importlib.import_module(_ENGINES["local"]).start_shared(options, with_us=with_us)


def virtual_nodes(name: str) -> VirtualNodes:
    """Virtual nodes of another engine than the local one. Raises ValueError for one that has none."""
    if name != "ray":
        raise ValueError(f"engine={name!r} has no virtual nodes; choose 'local' or 'ray'.")
    nodes: VirtualNodes = importlib.import_module(_ENGINES[name]).new_virtual_nodes()
    return nodes


def before_end(told: Callable[[Engine], object]) -> Callable[[], None]:
    """Call a function before an engine of this process ends, while the engine still answers.

    Returns what takes the function off again.
    """
    _before_end.append(told)
    return lambda: _before_end.remove(told)


def tell_end(engine: Engine) -> None:
    """Tell the registered functions that the engine is about to end. An error of theirs becomes a warning."""
    for told in _before_end:
        try:
            told(engine)
        except (exceptions.RayError, OSError, RuntimeError) as error:
            warnings.warn(f"The cluster's last snapshot could not be shown: {error}", RuntimeWarning, stacklevel=3)


def adopt(engine: Engine | None) -> None:
    """Make this the engine of the process; None after shutdown."""
    global _current, _has_ended
    _has_ended = _has_ended or (_current is not None and engine is None)
    _current = engine


def process_ends() -> None:
    """Python's atexit has come to the engine: from now on `end_daemon_thread` ends daemon threads."""
    global _process_ends
    _process_ends = True


def end_daemon_thread() -> None:
    """Before an error is raised: if the process ends, end this daemon thread without a word, as `sys.exit()` does.

    Its work is ended with the process, and its traceback would look like a fault of the program.
    """
    if _process_ends and threading.current_thread().daemon:
        raise SystemExit


class OutOfReach:
    """In place of an engine that this process cannot use: refs and handles stay what they are, each use is refused."""

    def __init__(self, **kept: Callable[[Any], Any]) -> None:
        self.__dict__.update(kept)  # parts of the promise that need no connection

    def ref_gone(self, id: bytes) -> None:
        """Do nothing: the process that can use the engine counts its own refs."""

    def was_awaited(self, ref: ObjectRef[Any]) -> None:
        """Do nothing, as above."""

    def close_stream(self, stream: ObjectRefGenerator) -> None:
        """Do nothing, as above."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise exceptions.RaySystemError(why_not_started())


def disown(kind: type, **kept: Callable[[Any], Any]) -> None:
    """In a forked child: an engine of this class is the parent's. Until init() is called here, each use is refused.

    What refs and handles do without a connection is `kept`. What the engine holds stays in memory, since its end
    would be reported on the parent's connections.
    """
    global _current, _forked_from
    engine: Any = _current
    if isinstance(engine, kind):
        _current, _forked_from = None, os.getppid()
        of_the_parent = dict(engine.__dict__)
        engine.__dict__.clear()
        engine.__class__ = OutOfReach
        engine.__dict__.update(kept, _of_the_parent=of_the_parent)


def out_of_reach(**kept: Callable[[Any], Any]) -> Any:
    """The engine of a ref or handle that has come to a process without an engine, which starts none by itself then."""
    global _has_foreign
    _has_foreign = True
    return OutOfReach(**kept)


def why_forked(parent: int) -> str:
    """Why a process that was forked from a driver or worker cannot use the cluster, and what to do."""
    return (
        f"This process ({os.getpid()}) was forked from {parent}, which is connected to a cluster, and cannot use "
        f"that connection. {_INSTEAD}."
    )


def is_forked() -> bool:
    """Whether this process was forked from one that is connected to a cluster, and has started none of its own."""
    return _forked_from != 0


def why_not_started() -> str:
    """The sentence for who uses a cluster before init()."""
    if _forked_from:
        return f"{why_forked(_forked_from)} nbaccel.init() here starts another cluster."
    if _has_foreign:
        return (
            f"This process ({os.getpid()}) has received a ref or an actor of a cluster that it is not connected to. "
            f"{_INSTEAD}. nbaccel.init() here starts another cluster."
        )
    return "nbaccel has not been started yet. Call nbaccel.init() first."


def started() -> Engine | None:
    """The engine, or None before init(). Inside a worker of Ray it is always the Ray engine."""
    return _current or _of_a_ray_worker()


def _of_a_ray_worker() -> Engine | None:
    """Code that Ray runs on a cluster uses the Ray engine without an init."""
    if _forked_from or not _is_ray_worker():
        return None
    engine: Engine = importlib.import_module(_ENGINES["ray"]).of_this_worker()
    return engine


def _is_ray_worker() -> bool:
    """Whether Ray has started this process, or the one from which it was forked: Ray's module and its mode tell."""
    ray = sys.modules.get("ray")
    worker = sys.modules.get("ray._private.worker")
    return ray is not None and worker is not None and worker.global_worker.mode == getattr(ray, "WORKER_MODE", None)


def _after_fork() -> None:
    """In a child of a worker of Ray, also of one that has no engine yet."""
    global _forked_from
    if _is_ray_worker():
        _forked_from = os.getppid()


os.register_at_fork(after_in_child=_after_fork)


def current(start: Callable[[], object] | None = None) -> Engine:
    """The engine; started with `start` or init()'s defaults when there is none yet, but not in a forked child."""
    if _process_ends:
        end_daemon_thread()
    if _current is None and _of_a_ray_worker() is None:
        initialise = start or _auto_init
        if _forked_from or _has_foreign or initialise is None:
            raise exceptions.RaySystemError(why_not_started())
        initialise()
        _tell_if_again(_current)
    assert _current is not None
    return _current


def _tell_if_again(engine: Engine | None) -> None:
    if engine is not None and _has_ended:
        sinks.installed.started_again(engine.snapshot().runtime)


def on_first_use(initialise: Callable[[], object]) -> None:
    """Set the function that is called when an engine is needed and there is none."""
    global _auto_init
    _auto_init = initialise
