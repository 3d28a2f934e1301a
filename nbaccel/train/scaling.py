"""ScalingConfig: how many workers a training run has, and what each of them holds.

Fields, defaults and errors are those of Ray Train 2.60 (`ray.train.ScalingConfig`); what differs says so.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from html import escape
from numbers import Real
from typing import Any

from nbaccel.handles import option_checks as checks

Resources = dict[str, float]

MOST_WORKERS = 1_000_000

_STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
_TYPE_PREFIX = "accelerator_type:"
_TRACE = 0.001  # of accelerator_type:X, as Ray asks for it: it holds nothing, it only chooses the node


@dataclass(eq=False, repr=False)
class ScalingConfig:
    """How many workers, and the resources of each.

    num_workers           an int; `(min, max)` takes as many as fit at the start and at each restart; 0 runs the
                          function in this process
    use_gpu, use_tpu      one device for each worker, if `resources_per_worker` does not say otherwise
    resources_per_worker  for example {"CPU": 4, "GPU": 0.5}; keys as in Ray ("CPU", "GPU", "TPU", "memory" in bytes,
                          custom names). Without it: {"GPU": 1}, {"TPU": 1} or {"CPU": 1}
    placement_strategy    PACK, SPREAD, STRICT_PACK or STRICT_SPREAD
    accelerator_type      for example "A100"
    label_selector        one dict for all workers, or a list with one for each
    trainer_resources     deprecated, as in Ray: nbaccel's controller needs none. A given value warns; one that is not
                          zero is reserved beside the workers

    Raises ValueError for values that make no sense.

    >>> ScalingConfig(num_workers=8, use_gpu=True, resources_per_worker={"CPU": 4, "GPU": 0.5}).total_resources
    {'CPU': 32, 'GPU': 4.0}
    """

    trainer_resources: Resources | None = None
    num_workers: int | tuple[int, int] = 1
    use_gpu: bool = False
    resources_per_worker: Resources | None = None
    placement_strategy: str = "PACK"
    accelerator_type: str | None = None
    label_selector: dict[str, str] | list[dict[str, str]] | None = None
    use_tpu: bool = False
    topology: str | None = None
    elastic_resize_monitor_interval_s: float = 60.0

    def __post_init__(self) -> None:
        self._check_counts()
        _check_quantities("resources_per_worker", self.resources_per_worker)
        _check_quantities("trainer_resources", self.trainer_resources)
        self._check_devices()
        self._check_places()
        if self.trainer_resources is not None:
            warnings.warn(_TRAINER_RESOURCES, DeprecationWarning, stacklevel=3)

    # ---- checks of the arguments

    def _check_counts(self) -> None:
        count = self.num_workers
        is_pair = isinstance(count, tuple) and len(count) == 2 and all(isinstance(each, int) for each in count)
        if not isinstance(count, int) and not is_pair:
            raise ValueError(f"ScalingConfig(num_workers) must be an int or a tuple of two ints, not {count!r}.")
        if self.min_workers < 0:
            raise ValueError(f"ScalingConfig(num_workers={count}): a number of workers cannot be negative.")
        if self.max_workers > MOST_WORKERS:
            raise ValueError(f"ScalingConfig(num_workers): a run has {MOST_WORKERS:,} workers at most, not more.")
        if self.min_workers > self.max_workers:
            raise ValueError(f"ScalingConfig(num_workers={count}): the first number must not exceed the second.")
        if self.elastic_resize_monitor_interval_s < 0:
            raise ValueError(
                "ScalingConfig(elastic_resize_monitor_interval_s) must be non-negative, not "
                f"{self.elastic_resize_monitor_interval_s}."
            )

    def _check_devices(self) -> None:
        if self.use_gpu and self.use_tpu:
            raise ValueError("ScalingConfig takes either use_gpu=True or use_tpu=True, not both.")
        for flag, name in (("use_gpu", "GPU"), ("use_tpu", "TPU")):
            wanted, amount = getattr(self, flag), (self.resources_per_worker or {}).get(name)
            if amount and not wanted:
                raise ValueError(
                    f"`{flag}` is False but `{name}` was found in `resources_per_worker`. Set {flag}=True, or remove "
                    f"{name!r} from resources_per_worker."
                )
            if wanted and amount is not None and not amount:
                raise ValueError(
                    f"`{flag}` is True but `{name}` is set to 0 in `resources_per_worker`. Set {flag}=False, or ask "
                    f"for a positive number of {name!r}."
                )
        if self.use_tpu and self.max_workers > 1:
            self._check_slice()

    def _check_slice(self) -> None:
        """Check Ray's conditions for several TPU hosts, then ours."""
        for name in ("topology", "accelerator_type"):
            if not getattr(self, name):
                raise ValueError(f"ScalingConfig needs `{name}` when use_tpu=True and num_workers > 1.")
        if self.label_selector:
            raise ValueError("ScalingConfig takes no `label_selector` with use_tpu=True: the slice chooses the nodes.")
        raise ValueError(
            f"nbaccel trains on the TPUs of one host; a slice of topology {self.topology} over {self.num_workers} "
            "workers is a case for `ray.train` on a Ray cluster."
        )

    def _check_places(self) -> None:
        if self.placement_strategy not in _STRATEGIES:
            raise ValueError(
                f"ScalingConfig(placement_strategy={self.placement_strategy!r}) is unknown; choose one of "
                f"{', '.join(_STRATEGIES)}."
            )
        selector = self.label_selector
        if isinstance(selector, list) and len(selector) != self.max_workers:
            raise ValueError(
                f"A `label_selector` list has one dict for each worker: it has {len(selector)}, and there are up to "
                f"{self.max_workers} workers."
            )

    # ---- derived values

    @property
    def elasticity_enabled(self) -> bool:
        return isinstance(self.num_workers, tuple)

    @property
    def min_workers(self) -> int:
        return self.num_workers[0] if isinstance(self.num_workers, tuple) else self.num_workers

    @property
    def max_workers(self) -> int:
        return self.num_workers[1] if isinstance(self.num_workers, tuple) else self.num_workers

    @property
    def _resources_per_worker_not_none(self) -> Resources:
        """The resources of each worker; an accelerator type adds a trace of a resource, as in Ray."""
        if self.resources_per_worker is None:
            asked: Resources = {} if self.use_gpu or self.use_tpu else {"CPU": 1}
        else:
            asked = {name: amount for name, amount in self.resources_per_worker.items() if amount}
        for flag, name in ((self.use_gpu, "GPU"), (self.use_tpu, "TPU")):
            if flag:
                asked.setdefault(name, 1)
        if self.accelerator_type:
            asked.setdefault(_TYPE_PREFIX + self.accelerator_type, _TRACE)
        return asked

    @property
    def _trainer_resources_not_none(self) -> Resources:
        """The resources of the controller: none, unless the user asks for some."""
        return {name: amount for name, amount in (self.trainer_resources or {}).items() if amount}

    @property
    def total_resources(self) -> Resources:
        """The resources of the whole gang, with `max_workers` workers; `trainer_resources` count as well."""
        total = dict(self._trainer_resources_not_none)
        for name, amount in self._resources_per_worker_not_none.items():
            total[name] = total.get(name, 0) + amount * self.max_workers
        return total

    @property
    def num_cpus_per_worker(self) -> float:
        return self._resources_per_worker_not_none.get("CPU", 0)

    @property
    def num_gpus_per_worker(self) -> float:
        return self._resources_per_worker_not_none.get("GPU", 0)

    @property
    def num_tpus_per_worker(self) -> float:
        return self._resources_per_worker_not_none.get("TPU", 0)

    @property
    def additional_resources_per_worker(self) -> Resources:
        """The resources of each worker except CPU and GPU."""
        asked = self._resources_per_worker_not_none
        return {name: amount for name, amount in asked.items() if name not in ("CPU", "GPU")}

    def bundles(self, num_workers: int) -> list[Resources]:
        """The bundles of the gang's placement group: one for each worker, then one for `trainer_resources`."""
        extra = self._trainer_resources_not_none
        return [self._resources_per_worker_not_none for _ in range(num_workers)] + ([extra] if extra else [])

    def labels(self, num_workers: int) -> list[dict[str, str]] | None:
        """The label selector of each of these bundles; None without a condition."""
        if self.label_selector is None:
            return None
        given = self.label_selector
        chosen = given[:num_workers] if isinstance(given, list) else [given] * num_workers
        return [dict(each) for each in chosen] + ([{}] if self._trainer_resources_not_none else [])

    # ---- as the resources of a trial of nbaccel.tune

    def as_placement_group_factory(self) -> Any:
        """The bundles and their strategy, as a trial takes them: tune.PlacementGroupFactory."""
        factory = importlib.import_module("nbaccel.tune").PlacementGroupFactory
        return factory(self.bundles(self.max_workers), strategy=self.placement_strategy)

    @classmethod
    def from_placement_group_factory(cls, pgf: Any) -> ScalingConfig:
        """The config of as many equal workers as the factory has bundles."""
        return cls(
            num_workers=len(pgf.bundles),
            use_gpu=bool(pgf.bundles[-1].get("GPU")),
            resources_per_worker=pgf.bundles[-1],
            placement_strategy=pgf.strategy,
        )

    # ---- how it looks

    def __eq__(self, other: object) -> bool:
        """Equal if the bundles and their placement are the same, as in Ray."""
        if not isinstance(other, type(self)):
            return False
        return self._shape() == other._shape()

    __hash__ = None  # type: ignore[assignment]

    def _shape(self) -> tuple[Any, ...]:
        return self.bundles(self.max_workers), self.num_workers, self.placement_strategy, self.label_selector

    def _given(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {field.name: values[field.name] for field in fields(self) if values[field.name] != field.default}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._given().items())})"

    def _repr_html_(self) -> str:
        rows = {"num_workers": self.num_workers, **self._given(), "in all": self.total_resources}
        cells = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows.items()
        )
        return f"<table><caption>{type(self).__name__}</caption>{cells}</table>"


_TRAINER_RESOURCES = (
    "ScalingConfig(trainer_resources=...) is deprecated: nbaccel's controller needs no resources, so the workers' are "
    "all that a run takes. What is not zero is reserved beside the workers; leave it out to reserve nothing."
)


def _check_quantities(name: str, given: Mapping[str, Any] | None) -> None:
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise ValueError(f"ScalingConfig({name}) must be a dict such as {{'CPU': 2}}, not {given!r}.")
    for key, amount in given.items():
        if not isinstance(key, str) or not isinstance(amount, Real) or amount < 0:
            raise ValueError(f"ScalingConfig({name}): {key!r}: {amount!r} is not a quantity of a resource.")
    checks.bundle(f"ScalingConfig({name})", given)
