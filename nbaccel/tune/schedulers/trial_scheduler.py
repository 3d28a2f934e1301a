"""What a scheduler of trials decides, and the scheduler that lets every trial run to its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

Result = Mapping[str, Any]
SCHEDULER_STATE = "scheduler-state-nbaccel.pkl"  # the file in an experiment's folder, of a scheduler that saves
DEFAULT_METRIC = "_metric"  # what a trial returns if it returns a number


Kind = Literal["continue", "stop", "pause", "exploit"]
_WORDS = {"continue": "CONTINUE", "stop": "STOP", "pause": "PAUSE", "exploit": "PAUSE"}


class Decision(str):
    """The answer to a result: Ray's word, with what a scheduler of this package adds.

    kind       "continue" or "stop"; "pause": the trial ends, and goes on from its checkpoint when it is chosen again;
               "exploit": the trial ends, and continues as another one
    donor      the trial whose checkpoint it takes over
    config     its new parameters
    is_pruned  it stops because others are better, before its own end
    is_last    it stops because no trial goes on for longer: it has finished
    saves      a checkpoint of what has been reported is wanted; a class of trainables can make one
    """

    kind: Kind
    donor: str
    config: Mapping[str, Any] | None
    is_pruned: bool
    is_last: bool
    saves: bool

    def __new__(
        cls,
        kind: Kind,
        donor: str = "",
        config: Mapping[str, Any] | None = None,
        *,
        is_pruned: bool = False,
        is_last: bool = False,
        saves: bool = False,
    ) -> Self:
        made = super().__new__(cls, _WORDS[kind])
        made.kind, made.donor, made.config = kind, donor, config
        made.is_pruned, made.is_last, made.saves = is_pruned, is_last, saves
        return made


CONTINUE = Decision("continue")
STOP = Decision("stop")
PRUNE = Decision("stop", is_pruned=True)
FINISH = Decision("stop", is_last=True)
PAUSE = Decision("pause", saves=True)
SAVE = Decision("continue", saves=True)


class TrialScheduler:
    """Decides after each result whether its trial goes on. A subclass overrides Ray's hooks, or those without `trial`.

    Ray's hooks have a `controller`: get_trials(), get_live_trials(), get_trial(id), stop_trial(trial),
    pause_trial(trial), has_resources_for_trial(trial). They get results with nested names joined ("eval/loss") besides.
    The schedulers of this package need no controller: `add`, `on_result`, `on_complete` and `on_remove` have no clock,
    process or file. `metric` and `mode` may be given here or in TuneConfig, not in both.
    """

    CONTINUE, PAUSE, STOP, NOOP = "CONTINUE", "PAUSE", "STOP", "NOOP"
    supports_buffered_results = True

    needs_metric = False
    needs_search_space = False  # it changes configs: a search that learns would learn wrong things
    given: tuple[tuple[Any, ...], dict[str, Any]]  # the arguments, for the experiment's journal

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        made.given = (args, kwargs)
        made._metric = made._mode = None  # a subclass may call no __init__ of this class
        made.has_served = False
        return made

    def __init__(self, metric: str | None = None, mode: str | None = None) -> None:
        if mode not in (None, "min", "max"):
            raise ValueError(f"{type(self).__name__}(mode={mode!r}) must be 'min' or 'max'.")
        self._metric, self._mode = metric, mode

    _metric: str | None  # as subclasses that are written for Ray call them
    _mode: str | None
    has_served: bool  # an experiment has used it

    @property
    def metric(self) -> str | None:
        return self._metric

    @property
    def mode(self) -> str | None:
        return self._mode

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        """Take metric and mode of TuneConfig; False if they are given here too."""
        if (self.metric and metric) or (self.mode and mode):
            return False
        self._metric, self._mode = self._metric or metric, self._mode or mode
        if self._metric is None and self._mode:
            self._metric = DEFAULT_METRIC
        return True

    def check(self) -> None:
        """Raises ValueError if the metric or the mode is missing."""
        if self.needs_metric and not (self.metric and self.mode):
            raise ValueError(
                f"{type(self).__name__} compares trials, but its metric is {self.metric!r} and its mode {self.mode!r}: "
                "pass TuneConfig(metric='loss', mode='min'), or give both to the scheduler."
            )

    # ---- the hooks of Ray Tune

    def on_trial_add(self, controller: Any, trial: Any) -> None:
        """A trial was made."""
        self.add(trial.id, trial.config)

    def on_trial_result(self, controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Decide after a result: CONTINUE, STOP, PAUSE, or NOOP if the controller was called instead."""
        return self.on_result(trial.id, result)

    def on_trial_complete(self, controller: Any, trial: Any, result: dict[str, Any]) -> None:
        """A trial that ran has ended well: by itself, by a stopper or by this scheduler."""
        self.on_complete(trial.id, result)

    def on_trial_error(self, controller: Any, trial: Any) -> None:
        """A trial has failed for good."""
        self.on_remove(trial.id)

    def on_trial_remove(self, controller: Any, trial: Any) -> None:
        """A trial was ended that did not run, or by a person."""
        self.on_remove(trial.id)

    def choose_trial_to_run(self, controller: Any) -> Any:
        """The trial that starts next: one that is pending or paused; None if none is to start now."""
        ready = [each for each in controller.get_trials() if controller.has_resources_for_trial(each)]
        for status in ("PENDING", "PAUSED"):
            for trial in ready:
                if trial.status == status:
                    return trial
        return None

    def debug_string(self) -> str:
        """A line about its state."""
        return f"Using {type(self).__name__}."

    def save(self, checkpoint_path: str) -> None:
        """Write the state into a file, when a trial has ended; those of this package are told all results again."""

    def restore(self, checkpoint_path: str) -> None:
        """Take the state from the file, in a restored experiment."""

    # ---- those of this package

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
        """The trial has ended by itself, by a stopper or by this scheduler; `result` is its last one."""

    def on_remove(self, trial: str) -> None:
        """The trial has failed, or was stopped by somebody else."""

    def value(self, result: Result) -> float | None:
        """The metric of a result, larger is better; None without one, NaN as it is."""
        found = nested(result, self.metric or DEFAULT_METRIC)
        if not isinstance(found, (int, float)):  # a bool counts, as in Ray
            return None
        return float(found) if self.mode == "max" else -float(found)


class FIFOScheduler(TrialScheduler):
    """Every trial runs to its end, in the order in which they were made."""


def decision_of(answer: Any, scheduler: TrialScheduler) -> Decision:
    """The decision that a scheduler's hook has returned. Raises ValueError for anything else."""
    if isinstance(answer, Decision):
        return answer
    known = {"CONTINUE": CONTINUE, "NOOP": CONTINUE, "STOP": PRUNE, "PAUSE": PAUSE}
    if answer not in known:
        raise ValueError(
            f"{type(scheduler).__name__}.on_trial_result returned {answer!r}: it returns TrialScheduler.CONTINUE, "
            "STOP, PAUSE or NOOP."
        )
    return known[answer]


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
