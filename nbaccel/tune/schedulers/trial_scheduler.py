"""What a scheduler of trials decides, and the scheduler that lets every trial run to its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

Result = Mapping[str, Any]
DEFAULT_METRIC = "_metric"  # what a trial returns if it returns a number


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to a result.

    kind       "continue" or "stop"; "exploit": the trial ends, and continues as another one
    donor      the trial whose checkpoint it takes over
    config     its new parameters
    is_pruned  it stops because others are better, before its own end
    is_last    it stops because no trial goes on for longer: it has finished
    """

    kind: Literal["continue", "stop", "exploit"]
    donor: str = ""
    config: Mapping[str, Any] | None = None
    is_pruned: bool = False
    is_last: bool = False


CONTINUE = Decision("continue")
STOP = Decision("stop")
PRUNE = Decision("stop", is_pruned=True)
FINISH = Decision("stop", is_last=True)


class TrialScheduler:
    """Decides after each result whether its trial goes on. It has no clock, process or file.

    A subclass overrides `on_result`. `metric` and `mode` may be given here or in TuneConfig, not in both.
    """

    given: tuple[tuple[Any, ...], dict[str, Any]]  # the arguments, for the experiment's journal

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        made.given = (args, kwargs)
        return made

    def __init__(self, metric: str | None = None, mode: str | None = None) -> None:
        if mode not in (None, "min", "max"):
            raise ValueError(f"{type(self).__name__}(mode={mode!r}) must be 'min' or 'max'.")
        self.metric, self.mode = metric, mode

    needs_metric = True
    needs_search_space = False  # it changes configs: a search that learns would learn wrong things

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        """Take metric and mode of TuneConfig; False if they are given here too."""
        if (self.metric and metric) or (self.mode and mode):
            return False
        self.metric, self.mode = self.metric or metric, self.mode or mode
        if self.metric is None and self.mode:
            self.metric = DEFAULT_METRIC
        return True

    def check(self) -> None:
        """Raises ValueError if the metric or the mode is missing."""
        if self.needs_metric and not (self.metric and self.mode):
            raise ValueError(
                f"{type(self).__name__} compares trials, but its metric is {self.metric!r} and its mode {self.mode!r}: "
                "pass TuneConfig(metric='loss', mode='min'), or give both to the scheduler."
            )

    def add(self, trial: str, config: dict[str, Any]) -> None:
        """A new trial; its config may be completed here."""

    def on_result(self, trial: str, result: Result) -> Decision:
        """Decide after a result of this trial."""
        return CONTINUE

    def replay(self, trial: str, results: Sequence[Result]) -> None:
        """Learn the results of a trial of an earlier run; nothing is decided about them."""
        for result in results:
            self.on_result(trial, result)

    def has_checkpoint(self, trial: str) -> None:
        """This trial has a checkpoint now, that of its last result."""

    def on_complete(self, trial: str, result: Result) -> None:
        """The trial has ended by itself; `result` is its last one."""

    def on_remove(self, trial: str) -> None:
        """The trial has failed or was stopped by somebody else."""

    def value(self, result: Result) -> float | None:
        """The metric of a result, larger is better; None without one, NaN as it is."""
        found = nested(result, self.metric or DEFAULT_METRIC)
        if not isinstance(found, (int, float)):  # a bool counts, as in Ray
            return None
        return float(found) if self.mode == "max" else -float(found)


class FIFOScheduler(TrialScheduler):
    """Every trial runs to its end, in the order in which they were made."""

    needs_metric = False


def nested(result: Result, name: str) -> Any:
    """A value of a result; "eval/loss" also looks into nested dicts. None if it is missing."""
    if name in result or "/" not in name:
        return result.get(name)
    value: Any = result
    for part in name.split("/"):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def number_of(result: Result, name: str) -> float | None:
    """A number of a result; None if it is missing, NaN or no number."""
    value = nested(result, name)
    if not isinstance(value, (int, float)) or math.isnan(value):
        return None
    return float(value)
