"""The configs of a run: its workers, its folder, its reaction to failures, which checkpoints stay, what it calls back.

Fields, defaults and errors are those of Ray Train 2.60; a docstring names each difference.
"""

from __future__ import annotations

import importlib
import logging
import os
import secrets
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from html import escape
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from nbaccel.handles import option_checks as checks
from nbaccel.train.checkpoint import Checkpoint, fsspec_for, is_local, is_remote

if TYPE_CHECKING:
    from nbaccel.train.datasets import DataConfig

from nbaccel.views.stored_runs import DEFAULT_STORAGE, STORAGE_VARIABLE

_LONGEST_NAME = 240  # bytes; a file system takes 255, and a second run of a name is "name-2"


class _OnlyWhatWasGiven:
    """A repr that shows only fields that differ from their defaults."""

    def __repr__(self) -> str:
        given = [
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(self)  # type: ignore[arg-type]
            if each.repr and getattr(self, each.name) != each.default and getattr(self, each.name) != _made(each)
        ]
        return f"{type(self).__name__}({', '.join(given)})"


def _made(each: Any) -> Any:
    return each.default_factory() if callable(each.default_factory) else each.default


@dataclass(repr=False)
class FailureConfig(_OnlyWhatWasGiven):
    """How often a run continues after a worker failed: the worker group starts again from the latest checkpoint.

    max_failures  -1: without limit; 0, the default: never

    The other fields are Ray's, for its controller process and for preempted nodes. They are accepted without effect:
    nbaccel's controller runs in your process, and a lost node counts as a failure.

    >>> RunConfig(failure_config=FailureConfig(max_failures=3)).failure_config.max_failures
    3
    """

    max_failures: int = 0
    fail_fast: bool | str | None = None
    controller_failure_limit: int = -1
    max_preemption_failures: int = -1
    relax_collectives_on_preemption: bool = False
    preemption_grace_s: float = 0.0

    def __post_init__(self) -> None:
        if self.fail_fast is not None:
            raise DeprecationWarning(
                "FailureConfig(fail_fast=...) is of trials, as in Ray: use nbaccel.tune.FailureConfig. A training run "
                "ends at its first failure without it, unless max_failures says otherwise."
            )
        self._check_failures()

    def _check_failures(self) -> None:
        if not isinstance(self.max_failures, int) or self.max_failures < -1:
            raise ValueError(
                f"FailureConfig(max_failures={self.max_failures!r}) must be an int: 0 for never, a number of "
                "restarts, or -1 for as many as it takes."
            )


@dataclass(repr=False)
class CheckpointConfig(_OnlyWhatWasGiven):
    """Which checkpoints stay on disk.

    num_to_keep                 how many stay; None: all. The latest one always stays as well
    checkpoint_score_attribute  the reported metric whose best values decide which stay; without it the latest stay.
                                A missing or NaN metric counts as the worst
    checkpoint_score_order      "max" or "min"

    >>> best = CheckpointConfig(num_to_keep=2, checkpoint_score_attribute="loss", checkpoint_score_order="min")
    """

    num_to_keep: int | None = None
    checkpoint_score_attribute: str | None = None
    checkpoint_score_order: Literal["max", "min"] = "max"
    checkpoint_frequency: int | None = None
    checkpoint_at_end: bool | None = None

    def __post_init__(self) -> None:
        for name in ("checkpoint_frequency", "checkpoint_at_end"):
            if getattr(self, name) is not None:
                raise DeprecationWarning(
                    f"CheckpointConfig({name}=...) does not apply to a training function: call "
                    "train.report(metrics, checkpoint=...) where a checkpoint is due, and leave it out."
                )
        if self.num_to_keep is not None and (not isinstance(self.num_to_keep, int) or self.num_to_keep < 1):
            raise ValueError(f"CheckpointConfig(num_to_keep={self.num_to_keep!r}) must be None or an int from 1.")
        if self.checkpoint_score_order not in ("max", "min"):
            raise ValueError(
                f"CheckpointConfig(checkpoint_score_order={self.checkpoint_score_order!r}) must be 'max' or 'min'."
            )


@dataclass(repr=False)
class LoggingConfig(_OnlyWhatWasGiven):
    """`log_level` of the workers' loggers "nbaccel.train" and "ray.train", which print to their stderr."""

    log_level: str = "INFO"

    def __post_init__(self) -> None:
        levels = logging.getLevelNamesMapping()
        if not isinstance(self.log_level, str) or self.log_level.upper() not in levels:
            raise ValueError(
                f"LoggingConfig(log_level={self.log_level!r}) must be one of: {', '.join(sorted(levels))}."
            )
        self.log_level = self.log_level.upper()


@dataclass(repr=False)
class RunConfig(_OnlyWhatWasGiven):
    """The name and folder of a run, and its reaction to failures.

    name                the run's folder in `storage_path`. A run of this name that was interrupted or failed continues
                        from its latest checkpoint; a finished one stays unchanged, and the new run is `name-2`.
                        Default: the function's name and the time
    storage_path        a folder, or a URL that fsspec knows ("s3://bucket/runs"): the run then works in a local folder
                        and uploads it with each checkpoint. Default: $NBACCEL_STORAGE, else ~/nbaccel_results
    storage_filesystem  the fsspec or pyarrow filesystem of `storage_path`
    failure_config, checkpoint_config, logging_config
    callbacks           a list of `nbaccel.train.UserCallback`s; they are called in this process
    worker_runtime_env  the `runtime_env` of the workers
    resume              not in Ray: True continues a finished run of this name too, as Ray always does

    Raises ValueError for invalid values and, as Ray, DeprecationWarning for options of former versions.

    >>> config = RunConfig(name="first", storage_path="runs", checkpoint_config=CheckpointConfig(num_to_keep=2))
    """

    name: str | None = None
    storage_path: str | None = None
    storage_filesystem: Any = None
    failure_config: FailureConfig = field(default_factory=FailureConfig)
    checkpoint_config: CheckpointConfig = field(default_factory=CheckpointConfig)
    callbacks: Sequence[Any] = field(default_factory=list)  # of nbaccel.tune.Callback in its own RunConfig
    worker_runtime_env: Any = field(default_factory=dict)
    logging_config: LoggingConfig = field(default_factory=LoggingConfig)
    resume: bool | None = None
    sync_config: Any = None
    verbose: Any = None
    stop: Any = None
    progress_reporter: Any = None
    log_to_file: Any = None

    def __post_init__(self) -> None:
        for name, instead in _GONE.items():
            if getattr(self, name) is not None:
                raise DeprecationWarning(f"RunConfig({name}=...) is gone, in Ray Train as well: {instead}.")
        for name, kind in (
            ("failure_config", FailureConfig),
            ("checkpoint_config", CheckpointConfig),
            ("logging_config", LoggingConfig),
        ):
            _of_kind(self, name, kind)
        self.callbacks = _callbacks(self.callbacks)
        self.worker_runtime_env = self.worker_runtime_env or {}
        self.storage_path = _storage_path(self.storage_path, self.storage_filesystem)
        if self.name is not None:
            _check_name(self.name)


_GONE = {
    "sync_config": "checkpoints are written to storage_path by themselves",
    "verbose": "a run draws itself in a notebook and prints a line a second in a script",
    "stop": "return from the training function, or call stop() on what trainer.start() returns",
    "progress_reporter": "a UserCallback's after_report() is called with each report",
    "log_to_file": "what workers print is in the engine's logs",
}


def _of_kind(config: RunConfig, name: str, kind: type) -> None:
    """Check the class: None means the default; another class of the same name (such as Ray's own) is refused."""
    given = getattr(config, name)
    if given is None:
        setattr(config, name, kind())
    elif not isinstance(given, kind):
        raise ValueError(
            f"RunConfig({name}) takes nbaccel.train.{kind.__name__}, not {type(given).__module__}."
            f"{type(given).__name__}: import it from nbaccel.train."
        )


def _callbacks(given: Any) -> list[UserCallback]:
    if given is None:
        return []
    if not isinstance(given, Sequence) or not all(isinstance(each, UserCallback) for each in given):
        raise ValueError(f"RunConfig(callbacks) takes a list of nbaccel.train.UserCallback objects, not {given!r}.")
    return list(given)


def _storage_path(given: Any, filesystem: Any) -> str:
    text = os.fspath(given) if given is not None else os.environ.get(STORAGE_VARIABLE) or DEFAULT_STORAGE
    if filesystem is not None and given is None:
        raise ValueError("RunConfig(storage_filesystem=...) needs storage_path, a path in that filesystem.")
    if not is_local(filesystem):
        return text
    if is_remote(text):
        _check_protocol(text)
        return text
    return str(Path(text.removeprefix("file://")).expanduser().absolute())


def _check_protocol(url: str) -> None:
    fsspec = fsspec_for(f"RunConfig(storage_path={url!r})")
    protocol = url.partition("://")[0]
    try:
        fsspec.get_filesystem_class(protocol)
    except (ValueError, ImportError) as error:
        raise ValueError(f"RunConfig(storage_path={url!r}): fsspec cannot use {protocol}:// here. {error}") from None


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip() or name in (".", "..") or "\0" in name or "/" in name:
        raise ValueError(f"RunConfig(name={name!r}) must be the name of a folder, without '/'.")
    length = len(os.fsencode(name))
    if length > _LONGEST_NAME:
        raise ValueError(
            f"RunConfig(name={name[:20]!r}...) has {length} bytes, and the name of a folder has at most "
            f"{_LONGEST_NAME} here: give a shorter one."
        )


# ---- what a run calls back


@dataclass(frozen=True, slots=True)
class TrainRunContext:
    """What a trainer was given for a run; `run_config` has the run's name. Names as in Ray Train."""

    run_config: RunConfig
    train_loop_config: dict[str, Any] | None
    scaling_config: ScalingConfig
    backend_config: BackendConfig
    dataset_config: DataConfig
    run_id: str = field(default_factory=lambda: f"run-{secrets.token_hex(6)}")

    def get_run_config(self) -> RunConfig:
        return self.run_config


class UserCallback:
    """Override the methods you need. They run in the process of `fit()`, in the run's own thread; nothing is pickled.

    An exception in a callback ends the run.

    >>> from nbaccel.train.data_parallel_trainer import DataParallelTrainer
    >>> class Losses(train.UserCallback):
    ...     def after_report(self, run_context, metrics, checkpoint): print(metrics[0]["loss"])
    >>> config = train.RunConfig(callbacks=[Losses()])
    >>> done = DataParallelTrainer(lambda: train.report({"loss": 0.5}), run_config=config).fit()
    0.5
    """

    def after_report(
        self, run_context: TrainRunContext, metrics: list[dict[str, Any]], checkpoint: Checkpoint | None
    ) -> None:
        """Called when all ranks have sent a report; `metrics` has one dict for each rank, in order."""

    def after_exception(self, run_context: TrainRunContext, worker_exceptions: dict[int, Exception]) -> None:
        """Called when workers failed, with {rank: exception}, before the run restarts or ends."""


# ---- how many workers a run has, and what each of them holds


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
    use_gpu, use_tpu      one device for each worker, unless `resources_per_worker` says otherwise
    resources_per_worker  for example {"CPU": 4, "GPU": 0.5}; keys as in Ray ("CPU", "GPU", "TPU", "memory" in bytes,
                          custom names). Without it: {"GPU": 1}, {"TPU": 1} or {"CPU": 1}
    placement_strategy    PACK, SPREAD, STRICT_PACK or STRICT_SPREAD
    accelerator_type      for example "A100"
    label_selector        one dict for all workers, or a list with one for each
    trainer_resources     deprecated, as in Ray: nbaccel's controller needs none. A given value warns; one that is not
                          zero is reserved beside the workers

    Raises ValueError for invalid values.

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
        """Whether `num_workers` is a range."""
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
            resources: Resources = {} if self.use_gpu or self.use_tpu else {"CPU": 1}
        else:
            resources = {name: amount for name, amount in self.resources_per_worker.items() if amount}
        for flag, name in ((self.use_gpu, "GPU"), (self.use_tpu, "TPU")):
            if flag:
                resources.setdefault(name, 1)
        if self.accelerator_type:
            resources.setdefault(_TYPE_PREFIX + self.accelerator_type, _TRACE)
        return resources

    @property
    def _trainer_resources_not_none(self) -> Resources:
        """The resources of the controller: none, unless the user asks for some."""
        return {name: amount for name, amount in (self.trainer_resources or {}).items() if amount}

    @property
    def total_resources(self) -> Resources:
        """The resources of the whole worker group, with `max_workers` workers; `trainer_resources` count as well."""
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
        resources = self._resources_per_worker_not_none
        return {name: amount for name, amount in resources.items() if name not in ("CPU", "GPU")}

    def bundles(self, num_workers: int) -> list[Resources]:
        """The bundles of the worker group's placement group: one for each worker, then one for `trainer_resources`."""
        extra = self._trainer_resources_not_none
        return [self._resources_per_worker_not_none for _ in range(num_workers)] + ([extra] if extra else [])

    def labels(self, num_workers: int) -> list[dict[str, str]] | None:
        """The label selector of each of those bundles; None if there is none."""
        if self.label_selector is None:
            return None
        given = self.label_selector
        chosen = given[:num_workers] if isinstance(given, list) else [given] * num_workers
        return [dict(each) for each in chosen] + ([{}] if self._trainer_resources_not_none else [])

    # ---- as the resources of a trial of nbaccel.tune

    def as_placement_group_factory(self) -> Any:
        """The bundles and their strategy as a tune.PlacementGroupFactory, for a trial."""
        factory = importlib.import_module("nbaccel.tune").PlacementGroupFactory
        return factory(self.bundles(self.max_workers), strategy=self.placement_strategy)

    @classmethod
    def from_placement_group_factory(cls, pgf: Any) -> ScalingConfig:
        """A config with one worker for each bundle, all equal to the last."""
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


# ---- the classes by which a framework extends a group of workers; libraries derive from them


class Backend:
    """Override what you need.

    share_cuda_visible_devices  every worker sees the devices of all workers of its node, so that `cuda:{local rank}`
                                is a worker's own and peers reach each other
    """

    share_cuda_visible_devices: bool = False

    def on_start(self, worker_group: Any, backend_config: BackendConfig) -> None:
        """Called when all workers have their ranks, before the function begins."""

    def on_training_start(self, worker_group: Any, backend_config: BackendConfig) -> None:
        """Called right before the function begins."""

    def on_shutdown(self, worker_group: Any, backend_config: BackendConfig) -> None:
        """Called when the function has ended in all workers and the workers still exist."""


class BackendConfig:
    """The options of a framework such as PyTorch; the object is pickled and sent to the workers.

    imports  modules that every worker imports before the training function begins
    """

    imports: ClassVar[tuple[str, ...]] = ()

    @property
    def backend_cls(self) -> type[Backend]:
        return Backend

    @property
    def train_func_context(self) -> Callable[[], AbstractContextManager[Any]]:
        """Makes the context manager around the function, in each worker's main thread."""
        return nullcontext
