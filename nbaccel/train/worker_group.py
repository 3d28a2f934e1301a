"""A worker group: all workers of a run at one time, as a placement group and an actor in each of its bundles.

```
  placement group + actors ─► facts of each ─► seats ─► prepare ─► (a backend's on_start) ─► worker_group_ready
        │ never fits                │ storage is not shared
        └──────────► no_place ◄─────┘                          a worker fails ─► worker_failed
```
"""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import nbaccel
from nbaccel import exceptions
from nbaccel.handles.internal_work import actor_of_a_run, internal_actor
from nbaccel.handles.remote import ObjectRef
from nbaccel.train import failures, storage
from nbaccel.train.configs import Backend, BackendConfig, Resources, RunConfig, ScalingConfig
from nbaccel.train.controller import Controller
from nbaccel.train.errors import ControllerError
from nbaccel.train.mailbox import Inbox, Mailbox
from nbaccel.train.ranks import Facts, Seat, seats
from nbaccel.train.records import Records
from nbaccel.train.worker import Assignment, TrainWorker
from nbaccel.util.placement_group import placement_group, remove_placement_group
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy
from nbaccel.util.state import row_queries
from nbaccel.views import wording
from nbaccel.views.sinks import notify
from nbaccel.views.snapshot import DeviceRow, NodeRow

_MAILBOX_CALLS = 10_000  # at once: every rank may wait in a barrier, and the driver for news


def new_mailbox(name: str) -> Any:
    """The meeting point of a run, on the driver's node: another node may be lost, and the run goes on without it."""
    here = NodeAffinitySchedulingStrategy(nbaccel.get_runtime_context().get_node_id(), soft=False)
    options = {"num_cpus": 0, "max_concurrency": _MAILBOX_CALLS, "scheduling_strategy": here}
    return internal_actor(Mailbox, **options).remote()


def group_name(whose: str) -> str:
    """A name by which views and reasons call a placement group; two groups of a namespace cannot have one name."""
    return wording.encodable(f"{whose} {secrets.token_hex(3)}")


def never_fits(scaling: ScalingConfig, num_workers: int, totals: Mapping[str, float]) -> str:
    """Why this machine can never hold the worker group, with numbers; "" where it can."""
    needed: Resources = {}
    for bundle in scaling.bundles(num_workers):
        for name, amount in bundle.items():
            needed[name] = needed.get(name, 0) + amount
    for name, amount in needed.items():
        if amount > totals.get(name, 0) and not name.startswith("accelerator_type:"):
            return _too_much(scaling, num_workers, name, amount, totals.get(name, 0))
    return ""


def _too_much(scaling: ScalingConfig, num_workers: int, name: str, needed: float, there: float) -> str:
    each = scaling._resources_per_worker_not_none.get(name, 0)
    extra = scaling._trainer_resources_not_none.get(name, 0)
    beside = f", and trainer_resources for {extra:g}" if extra else ""
    workers = "1 worker asks" if num_workers == 1 else f"{num_workers} workers ask"
    return (
        f"The worker group can never be placed: {workers} for {each:g} {name} each{beside}, which is {needed:g} of the "
        f"{there:g} {name} that there are. Ask for fewer workers or for less of {name}."
    )


Node = tuple[Mapping[str, float], Mapping[str, str]]  # what is available on it, and its labels


def as_many_as_fit(scaling: ScalingConfig, nodes: Sequence[Node]) -> int:
    """How many workers of an elastic worker group these nodes can hold now, between `min_workers` and `max_workers`.

    Counted by resources, the placement strategy and equal labels. What only the engine knows, such as fractions of
    devices, may leave room for fewer.
    """
    each = _countable(scaling._resources_per_worker_not_none)
    extra = _countable(scaling._trainer_resources_not_none)
    selector = scaling.label_selector if isinstance(scaling.label_selector, dict) else {}
    wanted = {key: value for key, value in selector.items() if not _is_condition(value)}
    rooms = []
    for available, labels in nodes:
        left = dict(available)
        if extra and all(left.get(name, 0) >= amount for name, amount in extra.items()):
            left = {name: amount - extra.get(name, 0) for name, amount in left.items()}
            extra = {}
        if all(labels.get(key) == value for key, value in wanted.items()):
            rooms.append(
                min((math.floor(left.get(name, 0) / amount + 1e-6) for name, amount in each.items()), default=0)
            )
    fits = sum(rooms)
    if scaling.placement_strategy == "STRICT_PACK":
        fits = max(rooms, default=0)
    elif scaling.placement_strategy == "STRICT_SPREAD":
        fits = sum(room > 0 for room in rooms)
    return max(scaling.min_workers, min(scaling.max_workers, fits))


def _countable(resources: Resources) -> Resources:
    return {name: amount for name, amount in resources.items() if not name.startswith("accelerator_type:")}


def _is_condition(value: str) -> bool:
    """Whether a label's value is more than a text to be equal to: "!b", "in(a, b)", "!in(a, b)"."""
    return value.startswith("!") or "(" in value


class WorkerGroup:
    """The workers of one worker group, by their number until they have ranks."""

    def __init__(self, name: str, scaling: ScalingConfig, num_workers: int, runtime_env: Any) -> None:
        """Ask for the workers of the run of this name; returns at once."""
        self.size = num_workers
        self.facts: list[Facts] = []
        self.seats: list[Seat] = []
        self.ended: set[int] = set()  # ranks that the run has ended
        self.is_down = False
        self.before_down: Callable[[], None] | None = None  # a backend's last words, while the workers exist
        self.group = placement_group(
            scaling.bundles(num_workers),
            scaling.placement_strategy,
            group_name(f"{name}'s worker group"),
            bundle_label_selector=scaling.labels(num_workers),
        )
        options = _options(scaling)
        if runtime_env:
            options["runtime_env"] = runtime_env
        self._actors: list[Any] = []
        try:
            for number in range(num_workers):
                self._actors.append(self._new_actor(options, number))
        except BaseException:  # an environment that cannot be made: nobody else knows of what was reserved
            self.take_down()
            raise

    def _new_actor(self, options: dict[str, Any], bundle: int) -> Any:
        place = PlacementGroupSchedulingStrategy(self.group, bundle, placement_group_capture_child_tasks=False)
        return actor_of_a_run(TrainWorker, **options, scheduling_strategy=place).remote()

    def placed(self) -> ObjectRef[Any]:
        """A ref that is ready once all workers have their resources."""
        return self.group.ready()

    def why_it_waits(self) -> tuple[str, bool]:
        """Why the worker group waits: (a sentence, whether it can never be placed)."""
        found = nbaccel.explain(self.group)
        return found.sentence, found.ever is False

    def ask_facts(self, run_folder: str, probe: str) -> list[ObjectRef[Facts]]:
        return [actor.facts.remote(run_folder, probe) for actor in self._actors]

    def prepare(self, assignments: Sequence[Assignment], mailbox: Any, files: Any = None) -> list[ObjectRef[None]]:
        """Give each rank its seat; the refs are in the order of ranks.

        `files`: an object with those of the checkpoint to go on from, for ranks that do not see it.
        """
        self.seats = [each.seat for each in assignments]
        return [
            self._of(rank).prepare.remote(each, mailbox, files if each.travels else None)
            for rank, each in enumerate(assignments)
        ]

    def run(self, payload: ObjectRef[Any]) -> list[ObjectRef[Any]]:
        """Begin the training function in all ranks."""
        return [self._of(rank).run.remote(payload) for rank in range(self.size)]

    def execute(self, rank: int, function: Callable[..., Any], args: Any, kwargs: Any) -> ObjectRef[Any]:
        return self._of(rank).execute.remote(function, args, kwargs)  # type: ignore[no-any-return]

    def _of(self, rank: int) -> Any:
        return self._actors[self.seats[rank].worker]

    def actor_id(self, rank: int) -> str:
        """The id of a rank's actor, as snapshots have it."""
        return str(self._of(rank)._actor_id.hex())

    def kill(self, rank: int) -> None:
        self.ended.add(rank)
        nbaccel.kill(self._of(rank) if self.seats else self._actors[rank])

    def take_down(self) -> None:
        """End all workers and give back what they hold. Safe to call twice."""
        if self.is_down:
            return
        self.is_down = True
        if self.before_down is not None:
            self.before_down()
        for actor in self._actors:
            try:
                nbaccel.kill(actor)
            except exceptions.RayError:
                pass  # the cluster has ended: there is nothing to give back
        try:
            remove_placement_group(self.group)
        except exceptions.RayError:
            pass  # as above


def _options(scaling: ScalingConfig) -> dict[str, Any]:
    resources = scaling._resources_per_worker_not_none
    options: dict[str, Any] = {
        "num_cpus": resources.get("CPU", 0),
        "num_gpus": resources.get("GPU", 0),
        "max_restarts": 0,  # the worker group starts again as a whole, never one of it
        "max_task_retries": 0,
    }
    if "memory" in resources:
        options["memory"] = resources["memory"]
    if scaling.accelerator_type:
        options["accelerator_type"] = scaling.accelerator_type
    others = {
        name: amount
        for name, amount in resources.items()
        if name not in ("CPU", "GPU", "memory") and not name.startswith("accelerator_type:")
    }
    if others:
        options["resources"] = others
    return options


class BackendWorkers:
    """The worker group as a `Backend` sees it, with Ray Train's small interface."""

    def __init__(self, worker_group: WorkerGroup, scaling: ScalingConfig) -> None:
        self._worker_group = worker_group
        self._scaling = scaling

    def __len__(self) -> int:
        return self._worker_group.size

    def execute_async(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> list[ObjectRef[Any]]:
        return [self._worker_group.execute(rank, function, args, kwargs) for rank in range(len(self))]

    def execute(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Any]:
        """Run a function in every worker; returns the results by rank."""
        return nbaccel.get(self.execute_async(function, *args, **kwargs))

    def execute_single_async(self, rank: int, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._worker_group.execute(rank, function, args, kwargs)

    def execute_single(self, rank: int, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return nbaccel.get(self.execute_single_async(rank, function, *args, **kwargs))

    def get_resources_per_worker(self) -> Resources:
        return self._scaling._resources_per_worker_not_none


# ---- how a worker group comes together: resources, processes, ranks, devices, and a framework's own preparations


_LEAVE_S = 10.0  # so long may a backend take to shut down
_LOOK_S = 0.2  # a worker group that is not placed after so long is explained
_PATIENCE = 5  # so many looks may an elastic worker group wait although there seems to be room for all of it

Kinds = dict[tuple[str, str, str], str]  # (node id, resource, device id) -> "real", "logical" or "simulated"


class GroupListener(Protocol):
    """The object that learns the outcome, in the run's thread."""

    def workers_connect(self) -> None: ...

    def worker_group_ready(self, worker_group: WorkerGroup) -> None: ...

    def worker_group_waits(self, sentence: str) -> None: ...

    def worker_group_shrinks(self, worker_group: WorkerGroup) -> None: ...

    def folder_is_not_shared(self, sentence: str) -> None: ...

    def no_place(self, error: BaseException) -> None: ...

    def worker_failed(self, rank: int, error: BaseException) -> None: ...


class Gathering:
    """The gathering of one worker group. All of it but the backend's own methods runs in the run's thread."""

    def __init__(
        self,
        inbox: Inbox,
        mailbox: Any,
        scaling: ScalingConfig,
        config: RunConfig,
        backend: BackendConfig,
        records: Records,
        name: str,
        before: Sequence[Seat] = (),
    ) -> None:
        """`before`: the seats of the worker group before, whose resources come free soon."""
        self._inbox = inbox
        self._mailbox = mailbox
        self._scaling = scaling
        self._config = config
        self._backend = backend
        self._records = records
        self._name = name
        self._before = before
        self._sharing: set[str] = set()  # nodes that see the run's folder

    def begin(self, number: int, controller: Controller, listener: GroupListener) -> WorkerGroup:
        """Ask for everything; returns at once."""
        self._number, self._controller, self._listener = number, controller, listener
        return self._ask_for(self._how_many())

    def _ask_for(self, size: int) -> WorkerGroup:
        self._looks = 0
        self._worker_group = WorkerGroup(self._name, self._scaling, size, self._config.worker_runtime_env)
        self._records.worker_group_begins(size)
        begun = self._mailbox.begin.remote(self._number, size, self._records.first_report)
        probe = f".probe-{secrets.token_hex(4)}"
        refs = [begun, *self._worker_group.ask_facts(self._records.folder, probe)]
        self._when_all(refs, lambda values: self._facts_came(values[1:], probe))
        self._look_later()
        return self._worker_group

    def _is_wanted(self, worker_group: WorkerGroup) -> bool:
        return worker_group is self._worker_group and not worker_group.is_down and not self._controller.has_ended

    def _how_many(self) -> int:
        if not self._scaling.elasticity_enabled:
            return self._scaling.max_workers
        nodes = [(self._soon_free(node), node.labels) for node in row_queries.every(NodeRow) if node.alive]
        return as_many_as_fit(self._scaling, nodes)

    def _soon_free(self, node: Any) -> dict[str, float]:
        """What is available on a node, with what the group before held there: its processes may not have ended yet."""
        seats = [seat for seat in self._before if seat.facts.node_id == node.node_id]
        free = dict(node.available)
        for name, amount in self._scaling._resources_per_worker_not_none.items():
            free[name] = min(node.totals.get(name, 0), free.get(name, 0) + amount * len(seats))
        return free

    def _look_later(self) -> None:
        """Ask the engine later why the worker group waits: one that is not placed at once may wait forever."""
        worker_group, placed = self._worker_group, self._worker_group.placed()
        timer = threading.Timer(_LOOK_S, lambda: self._inbox.put(lambda: self._look(worker_group, placed)))
        timer.daemon = True
        timer.start()

    def _look(self, worker_group: WorkerGroup, placed: Any) -> None:
        if not self._is_wanted(worker_group) or worker_group.facts or _is_ready(placed):
            return
        sentence, never = worker_group.why_it_waits()
        if _is_ready(placed):  # meanwhile
            return
        if worker_group.size > self._scaling.min_workers:
            self._shrink(placed, sentence, never=never)
        elif never:
            self._listener.no_place(ControllerError(failures.never_placed(sentence)))
        else:
            self._listener.worker_group_waits(sentence)

    def _shrink(self, placed: Any, sentence: str, *, never: bool) -> None:
        """Ask for fewer workers, since an elastic worker group does not wait for its largest size."""
        self._looks += 1
        if self._looks >= _PATIENCE:
            self._before = ()  # what is not free by now is somebody else's
        size = self._how_many()
        if _is_ready(placed):  # meanwhile: what is free is what this worker group has left
            return
        if size >= self._worker_group.size:
            if not never and self._looks < _PATIENCE:
                self._look_later()
                return
            size = self._worker_group.size - 1
        notify("train", f"{self._name} begins with {size} of {self._scaling.max_workers} workers: {sentence}")
        self._worker_group.take_down()
        self._listener.worker_group_shrinks(self._ask_for(size))

    def _when_all(self, refs: list[Any], received: Callable[[list[Any]], None]) -> None:
        """Call `told` with all values once they are there. A ref that fails is the failure of its worker."""
        values: list[Any] = [None] * len(refs)
        left = set(range(len(refs)))
        worker_group = self._worker_group
        before_workers = len(refs) - worker_group.size

        def came(number: int, future: Future[Any]) -> None:
            error = future.exception()
            if error is not None:
                self._listener.worker_failed(max(0, number - before_workers), error)
                return
            values[number] = future.result()
            left.discard(number)
            if not left:
                received(values)

        for number, ref in enumerate(refs):
            self._inbox.when(ref, partial(came, number), lambda: self._is_wanted(worker_group))

    def _facts_came(self, facts: list[Any], probe: str) -> None:
        traces = {each.node_id: Path(self._records.folder, f"{probe}{each.node_id}") for each in facts}
        self._sharing = {node for node, trace in traces.items() if trace.exists()}
        for trace in traces.values():
            trace.unlink(missing_ok=True)
        try:
            files = self._files_for_others(facts)
        except (OSError, ValueError) as error:
            self._listener.no_place(ControllerError(str(error), error))
            return
        self._worker_group.facts = facts
        devices = row_queries.every(DeviceRow)
        positions = {(row.node_id, row.resource, row.id): row.index for row in devices}
        kinds = {(row.node_id, row.resource, row.id): row.kind for row in devices}
        share = self._backend.backend_cls.share_cuda_visible_devices
        placed = seats(facts, positions, driver_node=nbaccel.get_runtime_context().get_node_id(), share=share)
        refs = self._worker_group.prepare([self._assignment(seat, kinds) for seat in placed], self._mailbox, files)
        self._when_all(refs, lambda _: self._prepared())

    def _assignment(self, seat: Seat, kinds: Kinds) -> Assignment:
        facts = seat.facts
        return Assignment(
            worker_group=self._number,
            seat=seat,
            run_name=self._name,
            run_folder=facts.folder,
            first_report=self._records.first_report,
            checkpoint=self._records.latest_path(),
            backend=self._backend,
            device_kinds={
                resource: kinds.get((facts.node_id, resource, ids[0]), "logical")
                for resource, ids in facts.device_ids.items()
            },
            restarts=self._controller.failures,
            max_restarts=self._config.failure_config.max_failures,
            log_level=self._config.logging_config.log_level,
            travels=facts.node_id not in self._sharing,
            waits_for_commits=self._config.checkpoint_config.num_to_keep is not None,
        )

    def _files_for_others(self, facts: list[Facts]) -> Any:
        """An object with the checkpoint to go on from, if ranks do not see it. Raises ValueError if it is too large."""
        others = sorted({each.host for each in facts if each.node_id not in self._sharing})
        latest = self._records.latest_path()
        if not others:
            return None
        self._listener.folder_is_not_shared(failures.not_shared(self._records.folder, others))
        return nbaccel.put(storage.pack(latest)) if latest else None

    def _prepared(self) -> None:
        """Run the backend's methods, once all ranks have seats; they may take long, so they have a thread."""
        kind = self._backend.backend_cls
        backend = kind()
        if _overrides(kind, "on_shutdown"):
            self._worker_group.before_down = partial(self._shut_down, backend)
        if not (_overrides(kind, "on_start") or _overrides(kind, "on_training_start")):
            self._listener.worker_group_ready(self._worker_group)
            return
        self._listener.workers_connect()
        threading.Thread(target=self._run_backend, args=(backend,), name="nbaccel-train-backend", daemon=True).start()

    def _shut_down(self, backend: Backend) -> None:
        """Run the backend's `on_shutdown`, for a few seconds at most: a worker that has died does not answer it."""
        group = BackendWorkers(self._worker_group, self._scaling)

        def leave() -> None:
            try:
                backend.on_shutdown(group, self._backend)
            except exceptions.RayError:
                pass  # its workers have died, of which the run tells
            except Exception as error:  # a user's own class
                notify("train", f"{self._name}: {type(backend).__name__}.on_shutdown failed: {error!r}")

        thread = threading.Thread(target=leave, name="nbaccel-train-backend", daemon=True)
        thread.start()
        thread.join(_LEAVE_S)

    def _run_backend(self, backend: Backend) -> None:
        worker_group = self._worker_group
        group = BackendWorkers(worker_group, self._scaling)
        try:
            backend.on_start(group, self._backend)
            backend.on_training_start(group, self._backend)
        except Exception as error:  # a user's own class
            failed = error
            self._inbox.put(lambda: self._listener.worker_failed(0, failed) if self._is_wanted(worker_group) else None)
        else:
            self._inbox.put(
                lambda: self._listener.worker_group_ready(worker_group) if self._is_wanted(worker_group) else None
            )


def _is_ready(ref: Any) -> bool:
    return bool(nbaccel.wait([ref], timeout=0)[0])


def _overrides(kind: type[Backend], name: str) -> bool:
    return getattr(kind, name) is not getattr(Backend, name)
