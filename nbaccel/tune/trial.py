"""The record of a trial: its config, its state, and what it has reported."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.configs import CheckpointConfig
from nbaccel.train.journal import Kept
from nbaccel.tune import comparing
from nbaccel.views import wording


class TrialState(Enum):
    """Where a trial is. A trial that has ended never runs again, unless it is asked for by `restore`.

    PENDING   not begun, or interrupted
    RUNNING   submitted
    DONE      its function returned
    STOPPED   a scheduler or a stopper ended it
    ERROR     it failed more often than max_failures allows
    """

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    ERROR = "error"


@lru_cache(maxsize=256)
def _date(timestamp: int) -> str:
    return f"{datetime.fromtimestamp(timestamp):%Y-%m-%d_%H-%M-%S}"


ENDED = (TrialState.DONE, TrialState.STOPPED, TrialState.ERROR)


@dataclass(eq=False, repr=False)
class Trial:
    """One trial, with the names that callbacks and schedulers of Ray Tune use. Two trials are never equal.

    reports   of the latest attempt, with those before the checkpoint from which it went on
    kept      its checkpoints, oldest first
    attempts  how often it was submitted; restarts of failures and after interruptions count
    unknown   parameters whose value the journal could not store, by path: what `repr` said
    earlier_config  the config of its reports, while an attempt with another trial's config has not reported
    counted   training_iteration and time_total_s of the other trial's checkpoint in `start_from`, which go on
    chosen    what Optuna chose, by name: the value and its distribution as JSON
    stops     how often a person asked it to end
    is_pruned  a scheduler ended it because others are better
    is_paused  it is pending, because a scheduler has paused it
    drawn      the names of the parameters that a search has chosen
    saved      how many checkpoints it has made, which is the number of the next one
    keeping    which of them stay
    status_in_call  what a callback sees, where it is called before Ray changes the state
    custom_name, folder  what it is called, and its folder's name in the experiment's; "": by the trainable and its id
    """

    PENDING: ClassVar[str] = "PENDING"
    RUNNING: ClassVar[str] = "RUNNING"
    PAUSED: ClassVar[str] = "PAUSED"
    TERMINATED: ClassVar[str] = "TERMINATED"
    ERROR: ClassVar[str] = "ERROR"

    id: str
    number: int
    config: dict[str, Any]
    state: TrialState = TrialState.PENDING
    reports: list[dict[str, Any]] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    attempts: int = 0
    failures: int = 0
    error: BaseException | None = None
    error_words: str = ""
    start_from: str = ""  # a copy of another trial's checkpoint, in this one's folder
    first_report: int = 0  # of what began there
    donor: str = ""
    counted: dict[str, float] = field(default_factory=dict)
    pid: int = 0
    host: str = ""
    node_ip: str = ""
    devices: dict[str, list[str]] = field(default_factory=dict)
    started_at: float = 0.0
    ended_at: float = 0.0  # of its last attempt
    idle_s: float = 0.0  # between its attempts
    unknown: dict[str, str] = field(default_factory=dict)
    chosen: dict[str, tuple[Any, str]] = field(default_factory=dict)
    stops: int = 0
    is_pruned: bool = False
    earlier_config: dict[str, Any] | None = None
    is_paused: bool = False
    drawn: tuple[str, ...] | None = None  # None: all
    saved: int = 0
    keeping: CheckpointConfig = field(default_factory=CheckpointConfig)
    status_in_call: str = ""
    trainable_name: str = ""
    custom_name: str = ""
    tag: str = ""
    folder: str = ""
    experiment_folder: str = ""
    resources: Any = None
    stopping_criterion: dict[str, Any] = field(default_factory=dict)
    counters_before: dict[str, float] = field(default_factory=dict)  # what the latest attempt has counted on from

    # ---- Ray's names

    @property
    def trial_id(self) -> str:
        return self.id

    @property
    def status(self) -> str:
        """The state in Ray's words: PENDING, RUNNING, PAUSED, TERMINATED or ERROR."""
        if self.status_in_call:
            return self.status_in_call
        if self.is_paused and not self.has_ended:
            return "PAUSED"
        return "TERMINATED" if self.state in (TrialState.DONE, TrialState.STOPPED) else self.state.name

    def set_status(self, status: str) -> None:
        """Pause a trial that waits ("PAUSED"), or let a paused one wait ("PENDING"); the experiment sets the others."""
        if status not in ("PENDING", "PAUSED") or self.state is not TrialState.PENDING:
            raise ValueError(
                f"trial.set_status({status!r}): {self} is {self.status}, and a scheduler sets PENDING and PAUSED of a "
                "trial that does not run. controller.stop_trial(trial) ends one."
            )
        self.is_paused = status == "PAUSED"

    def __str__(self) -> str:
        """ "train_f21cc_00000": the trainable's name and the id."""
        return self.custom_name or (f"{self.trainable_name}_{self.id}" if self.trainable_name else self.id)

    def __repr__(self) -> str:
        return str(self)

    @property
    def evaluated_params(self) -> dict[str, Any]:
        """The parameters that a search has chosen, nested names joined."""
        flat = comparing.flat(self.config)
        return flat if self.drawn is None else {name: flat[name] for name in self.drawn if name in flat}

    @property
    def experiment_tag(self) -> str:
        """ "0_lr=0.0100": the number, and what a search has chosen."""
        return self.tag or tag_of(self.number, self.evaluated_params)

    @property
    def folder_name(self) -> str:
        return self.folder or self.id

    @property
    def local_path(self) -> str:
        """The trial's folder."""
        return os.path.join(self.experiment_folder, self.folder_name)

    path = logdir = local_dir = local_path

    @property
    def local_experiment_path(self) -> str:
        return self.experiment_folder

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The latest checkpoint; None if there is none."""
        folder = self.kept[-1].folder if self.kept else self.start_from
        return Checkpoint(os.path.join(self.local_path, folder)) if folder else None

    @property
    def metric_analysis(self) -> dict[str, dict[str, float]]:
        """For each metric that is a number: max, min, avg, last, last-5-avg, last-10-avg."""
        rows = [comparing.flat(each["metrics"]) for each in self.reports]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: found for name in names if (found := comparing.analysis(rows, name))}

    def begins(self, now: float) -> None:
        """An attempt begins: the time since the one before belongs to none."""
        if self.started_at and self.ended_at:
            self.idle_s += max(0.0, now - self.ended_at)
        self.started_at, self.ended_at = self.started_at or now, 0.0

    @property
    def start_time(self) -> float:
        return self.started_at

    def is_finished(self) -> bool:
        return self.has_ended

    @property
    def num_failures(self) -> int:
        return self.failures

    def get_error(self) -> str | None:
        """The text of `error_file`."""
        path = self.error_file
        return Path(path).read_text(errors="replace") if path is not None else None

    def get_pickled_error(self) -> BaseException | None:
        """The error of a trial that has failed."""
        return self.error

    @property
    def error_file(self) -> str | None:
        """The file with the errors of a trial that has failed."""
        return self._file("error.txt")

    @property
    def pickled_error_file(self) -> str | None:
        return self._file("error.pkl")

    def _file(self, name: str) -> str | None:
        path = os.path.join(self.local_path, name)
        return path if os.path.exists(path) else None

    @property
    def placement_group_factory(self) -> Any:
        """What it holds, as a PlacementGroupFactory."""
        from nbaccel.tune.resources import PlacementGroupFactory

        resources = self.resources
        if resources is None:
            return PlacementGroupFactory([{"CPU": 1}])
        return PlacementGroupFactory(
            [{}] * resources.is_headless + [dict(each) for each in resources.bundles], resources.strategy
        )

    # ---- ours

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def last(self) -> dict[str, Any]:
        """The last reported metrics; {} without a report."""
        return self.reports[-1]["metrics"] if self.reports else {}

    @property
    def last_result(self) -> dict[str, Any]:
        return self.result(self.last)

    @property
    def next_report(self) -> int:
        """The number of the first report of an attempt that continues from the latest checkpoint."""
        return self.kept[-1].report + 1 if self.kept else self.first_report

    @property
    def counters(self) -> dict[str, float]:
        """What an attempt from the latest checkpoint counts on from. As in Ray, a donor's checkpoint brings its own."""
        if not self.kept and self.start_from:
            return dict(self.counted)
        last = self.kept[-1].metrics if self.kept else {}
        return {name: last.get(name, 0) for name in ("training_iteration", "time_total_s")}

    def runs_at(self, whereabouts: tuple[int, str, str, dict[str, list[str]]]) -> None:
        """Note the process of the latest attempt."""
        self.pid, self.host, self.node_ip, self.devices = whereabouts

    def forget_after_checkpoint(self) -> None:
        """Drop the reports that an attempt from the latest checkpoint makes again."""
        self.reports = [each for each in self.reports if each["report"] < self.next_report]

    def result(self, metrics: dict[str, Any]) -> dict[str, Any]:
        """A result as Ray Tune fills it in: facts about the trial, and the metrics, which come first."""
        facts = {"trial_id": self.id, "pid": self.pid, "hostname": self.host, "node_ip": self.node_ip}
        return facts | {"done": self.has_ended, "config": self.config} | self._of_time(metrics) | metrics

    def _of_time(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        """The facts of a report that follow from others; {} of the trial itself."""
        if not metrics.keys() >= {"timestamp", "training_iteration", "time_total_s"}:
            return {}
        before = self.counters_before
        return {
            "date": _date(metrics["timestamp"]),
            "iterations_since_restore": metrics["training_iteration"] - int(before.get("training_iteration", 0)),
            "time_since_restore": metrics["time_total_s"] - before.get("time_total_s", 0.0),
            "experiment_tag": self.experiment_tag,
            "checkpoint_dir_name": self.kept[-1].folder if self.kept and self.kept[-1].metrics == metrics else None,
        }


# ----
# what trials and their folders are called: as in Ray Tune, "train_f21cc_00000" and "train_f21cc_00000_0_lr=0.0100"


MOST = 130  # characters of a folder's name; TUNE_MAX_LEN_IDENTIFIER sets another number
_UNFIT = re.compile(r"[^A-Za-z0-9_.,=@+-]+")


def tag_of(number: int, params: Mapping[str, Any]) -> str:
    """ "3_lr=0.0100,layers=2": the number of a trial, and its parameters by the last part of their names."""
    words = [f"{name.rpartition('/')[2]}={_word(value)}" for name, value in sorted(params.items())]
    return f"{number}_{','.join(words)}" if words else str(number)


def _word(value: Any) -> str:
    text = f"{value:.4f}" if type(value) is float else wording.text_of(value, MOST, _text)
    return _UNFIT.sub("_", text)


def _text(value: Any) -> str:
    return str(getattr(value, "__name__", value))


class TrialNames:
    """Names the trials of an experiment.

    name_creator, dirname_creator  functions of the trial, of TuneConfig
    """

    def __init__(
        self,
        trainable: str,
        name_creator: Callable[[Trial], Any] | None = None,
        dirname_creator: Callable[[Trial], Any] | None = None,
    ) -> None:
        self._trainable, self._name_creator, self._dirname_creator = trainable, name_creator, dirname_creator
        self._most = int(os.environ.get("TUNE_MAX_LEN_IDENTIFIER", MOST))
        self._taken: set[str] = set()

    def name(self, trial: Trial, experiment_folder: str) -> None:
        """Name a trial and its folder; one of a journal keeps its names. Raises ValueError for an unfit one."""
        trial.trainable_name = self._trainable
        trial.experiment_folder = experiment_folder
        trial.tag = trial.experiment_tag
        if trial.folder:
            self._taken.add(trial.folder)
            return
        if self._name_creator is not None:
            trial.custom_name = str(self._name_creator(trial))
        if self._dirname_creator is None:
            trial.folder = _UNFIT.sub("_", f"{trial}_{trial.experiment_tag}")[: self._most].rstrip(".")
        else:
            trial.folder = _checked(str(self._dirname_creator(trial)))
        if trial.folder in self._taken:
            trial.folder = f"{trial.folder}_{trial.id}"
        self._taken.add(trial.folder)


def _checked(name: str) -> str:
    if not name or name in (".", "..") or "/" in name or "\0" in name or len(os.fsencode(name)) > 240:
        raise ValueError(
            f"trial_dirname_creator returned {name!r}: it returns the name of a folder, without '/' and of at most 240 "
            "bytes."
        )
    return name
