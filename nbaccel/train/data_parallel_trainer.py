"""DataParallelTrainer: runs one function in all workers of a group."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn, TypeAlias, TypedDict

import nbaccel
from nbaccel import api
from nbaccel.train import forwarding, loops
from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.configs import BackendConfig, RunConfig, ScalingConfig, TrainRunContext
from nbaccel.train.datasets import DataConfig, Datasets, check
from nbaccel.train.forwarding import Forwarding
from nbaccel.train.result import Result
from nbaccel.train.run import Run, alone, run_here
from nbaccel.train.storage import OpenRun, open_run
from nbaccel.train.worker import Payload
from nbaccel.views.sinks import notify

__all__ = ["DataParallelTrainer"]

_RESTORE = (
    "DataParallelTrainer.{name} is gone, in Ray Train as well: run with the same RunConfig(name=..., storage_path=...) "
    "and the run goes on from its latest checkpoint."
)


TrainLoop: TypeAlias = Callable[[], Any] | Callable[[dict[str, Any]], Any]


class TrainerKeywords(TypedDict, total=False):
    """The keywords of DataParallelTrainer that its subclasses hand on."""

    train_loop_config: dict[str, Any] | None
    scaling_config: ScalingConfig | None
    run_config: RunConfig | None
    datasets: Mapping[str, Any] | None
    dataset_config: DataConfig | None
    validation_config: Any
    metadata: Any
    resume_from_checkpoint: Any


class DataParallelTrainer:
    """Run a function in all workers of a group.

    train_loop_per_worker  a function with no argument or one, the config; it runs in its worker's main thread and calls
                           train.report(), train.get_context() and so on
    train_loop_config      a dict, passed to the function
    backend_config         the options of a framework (TorchTrainer: TorchConfig)
    scaling_config         the number of workers and their resources; by default one worker with 1 CPU
    run_config             the run's name, folder, checkpoints, restarts
    datasets               a dict of lists, arrays, tables, torch datasets, or functions that each worker calls;
                           train.get_dataset_shard(name) is a rank's part
    dataset_config         which of the datasets are divided, a DataConfig

    Names and meanings are those of Ray Train 2.60; `start()` is not in Ray.

    >>> def train_func(config):
    ...     for step in range(config["steps"]):
    ...         train.report({"step": step})
    >>> DataParallelTrainer(train_func, train_loop_config={"steps": 3},
    ...                     scaling_config=train.ScalingConfig(num_workers=2)).fit().metrics
    {'step': 2}
    """

    def __init__(
        self,
        train_loop_per_worker: TrainLoop,
        *,
        train_loop_config: dict[str, Any] | None = None,
        backend_config: BackendConfig | None = None,
        scaling_config: ScalingConfig | None = None,
        run_config: RunConfig | None = None,
        datasets: Mapping[str, Any] | None = None,
        dataset_config: DataConfig | None = None,
        validation_config: Any = None,
        metadata: Any = None,
        resume_from_checkpoint: Any = None,
    ) -> None:
        loops.check(train_loop_per_worker)
        self.train_loop_per_worker = train_loop_per_worker
        self.train_loop_config = train_loop_config
        self.backend_config = backend_config or BackendConfig()
        self.scaling_config = _of_kind("scaling_config", scaling_config, ScalingConfig)
        self.run_config = _of_kind("run_config", run_config, RunConfig)
        self._resume_from = _old_checkpoint(resume_from_checkpoint)
        self._datasets = Datasets(check(datasets or {}), _of_kind("dataset_config", dataset_config, DataConfig))
        if validation_config:
            raise NotImplementedError(
                "validation_config=... is not here: call your validation as a task, validate.remote(checkpoint)."
            )
        if metadata is not None:
            raise DeprecationWarning(
                f"{type(self).__name__}(metadata=...) is gone, in Ray Train as well: put it into train_loop_config."
            )

    def fit(self) -> Result:
        """Run the function to its end and return the Result.

        Each Ctrl-C or press of the Stop button goes one step further: the first stops all ranks after the same report
        and returns a Result, the second interrupts the function, the third ends the processes.

        Raises WorkerGroupError if workers failed more often than `max_failures` allows, and ControllerError if the
        worker group can never be placed or the folder cannot be written; once the run has begun, both have `.result`.

        In a trial of nbaccel.tune, the reports and checkpoints of rank 0 are also the trial's, and the run begins from
        the trial's checkpoint. If the trial ends, the run ends and this raises.
        """
        if self.scaling_config.num_workers == 0:
            return self._fit_here()
        run = self.start()
        return run.wait_with_ladder() if run._forwarding is None else forwarding.wait_inside(run, run._forwarding)

    def start(self) -> Run:
        """Start the run and return immediately (not in Ray); `run.result()` waits for it, `run.stop()` ends it.

        Raises ControllerError if the worker group can never be placed or the folder cannot be written.
        """
        if self.scaling_config.num_workers == 0:
            raise ValueError("start() needs workers: with num_workers=0 the function runs in this process, in fit().")
        self._refuse_the_debug_engine()
        api.expect_imports(self.backend_config.imports)
        trial, opened = self._open()
        try:
            run = Run(
                opened,
                self._payload(),
                self._context(opened.name),
                Forwarding(trial) if trial is not None else None,
            )
            run.begin()
        except BaseException:  # it has no thread that would let go of the folder
            opened.close()
            raise
        return run

    def _fit_here(self) -> Result:
        with alone():
            trial, opened = self._open()
            return run_here(opened, self._payload(), self._context(opened.name), trial)

    def _open(self) -> tuple[forwarding.TrialHost | None, OpenRun]:
        """The trial in which the run begins, if there is one, and the run's open folder."""
        trial = forwarding.host()
        config = self.run_config
        if trial is not None:
            config = forwarding.config_inside(trial, config, loops.name_of(self.train_loop_per_worker))
        opened = open_run(config, self._default_name(), self.train_loop_config)
        if opened.notice:
            notify("train", opened.notice)
        latest = trial.latest_checkpoint() if trial is not None else None
        begin_from = latest or self._resume_from  # for a run without a checkpoint of its own
        if begin_from is not None:
            opened.begin_from = begin_from.path
        return trial, opened

    def _payload(self) -> Payload:
        return Payload(self.train_loop_per_worker, self.train_loop_config, self._datasets)

    def _context(self, name: str) -> TrainRunContext:
        return TrainRunContext(
            replace(self.run_config, name=name),
            self.train_loop_config,
            self.scaling_config,
            self.backend_config,
            self._datasets.config,
        )

    def _default_name(self) -> str:
        return f"{loops.name_of(self.train_loop_per_worker)}_{time.strftime('%Y-%m-%d_%H-%M-%S')}"

    def _refuse_the_debug_engine(self) -> None:
        api.ensure_started()
        if nbaccel.snapshot().runtime.engine == "debug":
            raise ValueError(
                "engine='debug' has one process and cannot run a worker group. Debug a training function with "
                "ScalingConfig(num_workers=0), on any engine: it runs in this process, where breakpoints work."
            )

    @classmethod
    def restore(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise DeprecationWarning(_RESTORE.format(name="restore()"))

    @classmethod
    def can_restore(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise DeprecationWarning(_RESTORE.format(name="can_restore()"))


def _of_kind(name: str, given: Any, kind: type[Any]) -> Any:
    if given is None:
        return kind()
    if not isinstance(given, kind):
        raise ValueError(
            f"{name} takes nbaccel.train.{kind.__name__}, not {type(given).__module__}.{type(given).__name__}: import "
            "it from nbaccel.train."
        )
    return given


def _old_checkpoint(given: Any) -> Checkpoint | None:
    if given is None:
        return None
    found: Checkpoint = _of_kind("resume_from_checkpoint", given, Checkpoint)
    if not os.path.isdir(found.path):
        raise ValueError(f"resume_from_checkpoint: {found.path} is no folder.")
    warnings.warn(
        "resume_from_checkpoint=... is deprecated: a run of the same RunConfig(name=...) goes on by itself, and a "
        "checkpoint of another run can be given in train_loop_config.",
        DeprecationWarning,
        stacklevel=_levels_to_the_user(),
    )
    return found


def _levels_to_the_user() -> int:
    """How many frames the caller is away from the line that made the trainer: subclasses have their own __init__."""
    frame, levels = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("nbaccel."):
        frame, levels = frame.f_back, levels + 1
    return levels
