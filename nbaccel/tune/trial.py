"""The record of a trial: its config, its state, and what it has reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from nbaccel.train.journal import Kept


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


ENDED = (TrialState.DONE, TrialState.STOPPED, TrialState.ERROR)


@dataclass(slots=True)
class Trial:
    """One trial.

    reports   of the latest attempt, with those before the checkpoint from which it went on
    kept      its checkpoints, oldest first
    attempts  how often it was submitted; restarts of failures and after interruptions count
    unknown   parameters whose value the journal could not store, by path: what `repr` said
    earlier_config  the config of its reports, while an attempt with another trial's config has not reported
    counted   training_iteration and time_total_s of the other trial's checkpoint in `start_from`, which go on
    chosen    what Optuna chose, by name: the value and its distribution as JSON
    stops     how often a person asked it to end
    is_pruned  a scheduler ended it because others are better
    """

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
    ended_at: float = 0.0
    unknown: dict[str, str] = field(default_factory=dict)
    chosen: dict[str, tuple[Any, str]] = field(default_factory=dict)
    stops: int = 0
    is_pruned: bool = False
    earlier_config: dict[str, Any] | None = None

    @property
    def trial_id(self) -> str:
        return self.id

    @property
    def status(self) -> str:
        """The state in Ray's words: PENDING, RUNNING, TERMINATED or ERROR."""
        return "TERMINATED" if self.state in (TrialState.DONE, TrialState.STOPPED) else self.state.name

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
        return facts | {"done": self.has_ended, "config": self.config} | metrics
