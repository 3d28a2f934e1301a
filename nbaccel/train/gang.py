"""A gang: all workers of a run at one time, as a placement group and an actor in each of its bundles."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import nbaccel
from nbaccel import exceptions
from nbaccel.handles.internal_work import actor_of_a_run, internal_actor
from nbaccel.handles.remote import ObjectRef
from nbaccel.train.mailbox import Mailbox
from nbaccel.train.ranks import Facts, Seat
from nbaccel.train.scaling import Resources, ScalingConfig
from nbaccel.train.worker import Assignment, TrainWorker
from nbaccel.util.placement_group import placement_group, remove_placement_group
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy
from nbaccel.views import wording

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
    """Why this machine can never hold the gang, with numbers; "" where it can."""
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
        f"The gang can never be placed: {workers} for {each:g} {name} each{beside}, which is {needed:g} of the "
        f"{there:g} {name} that there are. Ask for fewer workers or for less of {name}."
    )


Node = tuple[Mapping[str, float], Mapping[str, str]]  # what is available on it, and its labels


def as_many_as_fit(scaling: ScalingConfig, nodes: Sequence[Node]) -> int:
    """How many workers of an elastic gang these nodes can hold now, between `min_workers` and `max_workers`.

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


class Gang:
    """The workers of one gang, by their number until they have ranks."""

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
            group_name(f"{name}'s gang"),
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
        """Why the gang waits: (a sentence, whether it can never be placed)."""
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
    asked = scaling._resources_per_worker_not_none
    options: dict[str, Any] = {
        "num_cpus": asked.get("CPU", 0),
        "num_gpus": asked.get("GPU", 0),
        "max_restarts": 0,  # the gang starts again as a whole, never one of it
        "max_task_retries": 0,
    }
    if "memory" in asked:
        options["memory"] = asked["memory"]
    if scaling.accelerator_type:
        options["accelerator_type"] = scaling.accelerator_type
    others = {
        name: amount
        for name, amount in asked.items()
        if name not in ("CPU", "GPU", "memory") and not name.startswith("accelerator_type:")
    }
    if others:
        options["resources"] = others
    return options


class WorkerGroup:
    """The gang as a `Backend` sees it, with Ray Train's small interface."""

    def __init__(self, gang: Gang, scaling: ScalingConfig) -> None:
        self._gang = gang
        self._scaling = scaling

    def __len__(self) -> int:
        return self._gang.size

    def execute_async(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> list[ObjectRef[Any]]:
        return [self._gang.execute(rank, function, args, kwargs) for rank in range(len(self))]

    def execute(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Any]:
        """Run a function in every worker; returns the results by rank."""
        return nbaccel.get(self.execute_async(function, *args, **kwargs))

    def execute_single_async(self, rank: int, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._gang.execute(rank, function, args, kwargs)

    def execute_single(self, rank: int, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return nbaccel.get(self.execute_single_async(rank, function, *args, **kwargs))

    def get_resources_per_worker(self) -> Resources:
        return self._scaling._resources_per_worker_not_none
