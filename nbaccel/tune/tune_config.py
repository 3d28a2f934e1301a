"""TuneConfig, under the path at which programs import it from Ray Tune."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import timedelta
from enum import Enum
from typing import Any

from nbaccel.train.checkpoint import is_local, is_remote
from nbaccel.train.configs import CheckpointConfig, FailureConfig, RunConfig
from nbaccel.tune import stopper
from nbaccel.tune.comparing import plain_number
from nbaccel.tune.logger import Callback
from nbaccel.tune.result_tables import ProgressReporter
from nbaccel.tune.schedulers import TrialScheduler, create_scheduler
from nbaccel.tune.search import create_searcher
from nbaccel.views.sinks import notify

__all__ = ["ResumeConfig", "TuneConfig"]


# ---- TuneConfig, and the configs of nbaccel.train as Ray Tune has them


_LONGEST_S = 1e9  # about 32 years: a longer budget, also math.inf, is none


@dataclass
class TuneConfig:
    """How an experiment searches.

    metric, mode           what trials are compared by ("eval/loss" is nested), and "min" or "max"
    search_alg             BasicVariantGenerator (grids and random values, the default), OptunaSearch or "optuna", or a
                           Searcher of your own
    scheduler              an ASHAScheduler or another TrialScheduler, or a name for create_scheduler
    num_samples            how often values are drawn; a grid is repeated so often. -1: until something stops it
    max_concurrent_trials  the most trials at one time; None: as many as fit
    time_budget_s          seconds (or a timedelta), after which trials end at their next report
    reuse_actors           a Trainable whose reset_config() returns True also serves the next trial in its process;
                           functions are not affected
    trial_name_creator, trial_dirname_creator  functions that return a trial's name, and the name of its folder
    chdir_to_trial_dir     a trial's working directory is its own folder, and the variable TUNE_ORIG_WORKING_DIR holds
                           the program's. RAY_CHDIR_TO_TRIAL_DIR=0 turns it off for all

    Raises ValueError for invalid values.

    >>> config = TuneConfig(metric="loss", mode="min", num_samples=50, scheduler="asha", time_budget_s=600)
    """

    mode: str | None = None
    metric: str | None = None
    search_alg: Any = None
    scheduler: TrialScheduler | str | None = None
    num_samples: int = 1
    max_concurrent_trials: int | None = None
    time_budget_s: float | timedelta | None = None
    reuse_actors: bool = False
    trial_name_creator: Callable[..., str] | None = None
    trial_dirname_creator: Callable[..., str] | None = None
    chdir_to_trial_dir: bool | str = "DEPRECATED"

    def __post_init__(self) -> None:
        for name in ("num_samples", "max_concurrent_trials", "time_budget_s"):
            setattr(self, name, plain_number(getattr(self, name)))
        if self.metric is not None and not isinstance(self.metric, str):
            raise ValueError(
                f"TuneConfig(metric={self.metric!r}) must be the name of a metric. To search for several goals, give "
                "them to OptunaSearch(metric=[...], mode=[...])."
            )
        if self.mode not in (None, "min", "max"):
            raise ValueError(f"TuneConfig(mode={self.mode!r}) must be 'min' or 'max'.")
        if not isinstance(self.num_samples, int) or self.num_samples < -1 or self.num_samples == 0:
            raise ValueError(f"TuneConfig(num_samples={self.num_samples!r}) must be an int from 1, or -1 for no end.")
        most = self.max_concurrent_trials
        if most is not None and (not isinstance(most, int) or most < 0):
            raise ValueError(f"TuneConfig(max_concurrent_trials={most!r}) must be None or an int from 1.")
        if isinstance(self.time_budget_s, timedelta):
            self.time_budget_s = self.time_budget_s.total_seconds()
        budget = self.time_budget_s
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, (int, float)) or not budget >= 0):
            raise ValueError(
                f"TuneConfig(time_budget_s={budget!r}) must be a number of seconds from 0, a timedelta, or None."
            )
        if budget is not None and budget > _LONGEST_S:
            self.time_budget_s = None
        if isinstance(self.search_alg, str):
            self.search_alg = create_searcher(self.search_alg)
        if isinstance(self.scheduler, str):
            self.scheduler = create_scheduler(self.scheduler)
        if self.scheduler is not None and not isinstance(self.scheduler, TrialScheduler):
            raise ValueError(
                f"TuneConfig(scheduler) takes a scheduler of nbaccel.tune.schedulers, not "
                f"{type(self.scheduler).__module__}.{type(self.scheduler).__name__}."
            )
        for name in ("trial_name_creator", "trial_dirname_creator"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise ValueError(f"TuneConfig({name}={getattr(self, name)!r}) must be a function of a trial.")

    @property
    def works_in_folder(self) -> bool:
        """Whether a trial's process works in the trial's folder."""
        if isinstance(self.chdir_to_trial_dir, bool):
            return self.chdir_to_trial_dir
        return os.environ.get("RAY_CHDIR_TO_TRIAL_DIR", "1") != "0"


@dataclass(repr=False)
class TuneCheckpointConfig(CheckpointConfig):
    """Which checkpoints stay on disk, and how often a Trainable class makes one.

    checkpoint_frequency  the number of steps between two checkpoints; 0: none
    checkpoint_at_end     one more when the trial ends; None: with Tuner, if the class can save, but not with tune.run

    A function makes its checkpoints itself: tune.report(metrics, checkpoint=...).
    """

    def __post_init__(self) -> None:
        given = self.checkpoint_frequency, self.checkpoint_at_end
        self.checkpoint_frequency = self.checkpoint_at_end = None
        super().__post_init__()
        self.checkpoint_frequency, self.checkpoint_at_end = plain_number(given[0]), given[1]
        if not isinstance(self.checkpoint_frequency or 0, int) or (self.checkpoint_frequency or 0) < 0:
            raise ValueError(
                f"CheckpointConfig(checkpoint_frequency={self.checkpoint_frequency!r}) must be an int from 0."
            )


@dataclass(repr=False)
class TuneFailureConfig(FailureConfig):
    """How often a failed trial continues from its checkpoint, and whether its failure ends the others.

    fail_fast  True: the first trial that fails ends the experiment; "raise": fit() also raises that trial's error
    """

    fail_fast: bool | str = False

    def __post_init__(self) -> None:
        self._check_failures()
        if not (isinstance(self.fail_fast, bool) or str(self.fail_fast).upper() == "RAISE"):
            raise ValueError(f"FailureConfig(fail_fast={self.fail_fast!r}) must be True, False or 'raise'.")
        if self.fail_fast and self.max_failures != 0:
            raise ValueError(f"FailureConfig: max_failures must be 0 if fail_fast={self.fail_fast!r}.")


@dataclass
class ResumeConfig:
    """What tune.run(resume_config=...) does with the trials of an earlier run.

    finished, unfinished, errored  "resume" from their checkpoints, "restart" from their beginning, or "skip"
    """

    class ResumeType(Enum):
        """What happens to a trial."""

        RESUME = "resume"
        RESTART = "restart"
        SKIP = "skip"

    finished: ResumeType | str = "skip"
    unfinished: ResumeType | str = "resume"
    errored: ResumeType | str = "skip"

    def __post_init__(self) -> None:
        self.finished, self.unfinished, self.errored = (
            self.ResumeType(each) for each in (self.finished, self.unfinished, self.errored)
        )


@dataclass
class SyncConfig:
    """Accepted without effect, and with a notice: trials write all their files into `storage_path`."""

    sync_period: int = 300
    sync_timeout: int = 1800
    sync_artifacts: bool = False
    sync_artifacts_on_checkpoint: bool = True

    def __post_init__(self) -> None:
        given = [each.name for each in fields(self) if getattr(self, each.name) != each.default]
        if given:
            notify(
                "tune",
                f"SyncConfig({', '.join(given)}) changes nothing: trials write all their files into the experiment's "
                "folder themselves.",
            )


def folder_of(path: str | os.PathLike[str], filesystem: Any, use: str) -> str:
    """The folder of this machine that a user named, also as file://…; NotImplementedError for another storage."""
    text = os.fspath(path)
    if is_remote(text) or not is_local(filesystem):
        raise NotImplementedError(
            f"{use}: an experiment is in a folder of this machine, so nbaccel.tune takes no URL and no "
            "storage_filesystem but a local one. Copy the folder afterwards; a moved experiment can be continued."
        )
    return os.path.abspath(os.path.expanduser(text.removeprefix("file://")))


_OF_TUNE = ("stop", "verbose", "progress_reporter", "log_to_file", "callbacks", "sync_config")


class TuneRunConfig(RunConfig):
    """The name, folder, stop rule and callbacks of an experiment; the other fields are those of nbaccel.train.

    name       the experiment's folder in `storage_path`; `name-2` if the name is taken
    stop       when a trial ends: {metric: limit}, a function of trial_id and result, or a Stopper
    callbacks  a list of `nbaccel.tune.Callback`s
    verbose    0: nothing is shown while trials run. Otherwise an experiment has a card in a notebook and a line in a
               terminal
    progress_reporter  a CLIReporter, which also prints a table of the trials, or a ProgressReporter of your own
    log_to_file        True: a trial's output is also in the files `stdout` and `stderr` of its folder; a name: in one
               file; two names: in two
    """

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in _OF_TUNE}
        for name in _OF_TUNE:
            setattr(self, name, None)
        if self.storage_path is not None or self.storage_filesystem is not None:
            self.storage_path = folder_of(
                self.storage_path or "", self.storage_filesystem, "RunConfig(storage_path=...)"
            )
            self.storage_filesystem = None
        _refuse_what_is_of_a_run(self)
        super().__post_init__()
        stopper.of(given["stop"])
        log_files_of(given["log_to_file"])
        if given["verbose"] not in (None, 0, 1, 2, 3):
            raise ValueError(f"RunConfig(verbose={given['verbose']!r}) must be 0, 1, 2 or 3.")
        _check_reporter(given["progress_reporter"])
        if given["sync_config"] is not None and not isinstance(given["sync_config"], SyncConfig):
            raise ValueError(
                f"RunConfig(sync_config) takes nbaccel.tune.SyncConfig(...), not {given['sync_config']!r}."
            )
        callbacks = given.pop("callbacks") or []
        if not all(isinstance(each, Callback) for each in callbacks):
            raise ValueError(f"RunConfig(callbacks) takes a list of nbaccel.tune.Callback objects, not {callbacks!r}.")
        self.callbacks = list(callbacks)
        for name, value in given.items():
            setattr(self, name, value)


def _refuse_what_is_of_a_run(config: RunConfig) -> None:
    for name, instead in (
        ("worker_runtime_env", "give it to all workers: nbaccel.init(runtime_env=...)"),
        ("resume", "an experiment goes on by tune.Tuner.restore(path, trainable)"),
    ):
        if getattr(config, name):
            raise NotImplementedError(f"RunConfig({name}=...) is of a training run; {instead}.")


def log_files_of(given: Any) -> tuple[str, str]:
    """The names of the files that `log_to_file` means, of stdout and of stderr; "" for none."""
    if given in (None, False):
        return "", ""
    if given is True:
        return "stdout", "stderr"
    if isinstance(given, str):
        return given, given
    if isinstance(given, (list, tuple)) and len(given) == 2 and all(isinstance(each, str) for each in given):
        return given[0], given[1]
    raise ValueError(f"RunConfig(log_to_file={given!r}) must be True, False, the name of a file, or two names.")


def _check_reporter(given: Any) -> None:
    if given is not None and not isinstance(given, ProgressReporter):
        raise ValueError(
            f"RunConfig(progress_reporter) takes nbaccel.tune.CLIReporter(), or a ProgressReporter of your own, not "
            f"{given!r}."
        )


def of_tune(config: RunConfig | None) -> RunConfig:
    """The RunConfig of an experiment; one of nbaccel.train works as well."""
    if config is None:
        return TuneRunConfig()
    if not isinstance(config, RunConfig):
        raise ValueError(
            f"run_config takes nbaccel.tune.RunConfig, not {type(config).__module__}.{type(config).__name__}: import "
            "it from nbaccel.tune."
        )
    if isinstance(config, TuneRunConfig):
        return config
    return TuneRunConfig(
        **{each.name: getattr(config, each.name) for each in fields(config) if each.name != "callbacks"}
    )
