"""What a scheduler of trials decides; those that end trials early, and the one that lets each run to its end."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from nbaccel.tune.comparing import nested

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
    """Decides after each result whether its trial goes on.

    A subclass overrides Ray's hooks, `on_trial_result` and others with a `controller`, or nbaccel's, which need none:
    `add`, `on_result`, `on_complete` and `on_remove`. The controller has get_trials(), get_live_trials(),
    get_trial(id), stop_trial(trial), pause_trial(trial) and has_resources_for_trial(trial). Results for Ray's hooks
    also have the names of nested metrics joined ("eval/loss"). Give `metric` and `mode` here or in TuneConfig, not in
    both.
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
        """Take metric and mode from TuneConfig; False if they were given here too."""
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
        """A running trial has ended without an error: by itself, a stopper or this scheduler."""
        self.on_complete(trial.id, result)

    def on_trial_error(self, controller: Any, trial: Any) -> None:
        """A trial has failed for good."""
        self.on_remove(trial.id)

    def on_trial_remove(self, controller: Any, trial: Any) -> None:
        """A trial ended that was not running, or a person ended it."""
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
        """Write the state into a file; called when a trial has ended. nbaccel's own replay the results instead."""

    def restore(self, checkpoint_path: str) -> None:
        """Read the state from the file, in a restored experiment."""

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


def number_of(result: Result, name: str) -> float | None:
    """A number of a result; None if it is missing, NaN or no number."""
    value = nested(result, name)
    if not isinstance(value, (int, float)) or math.isnan(value):
        return None
    return float(value)


# ---- ASHA: brackets in which nobody waits


class AsyncHyperBandScheduler(TrialScheduler):
    """Stop trials that are not among the best when they reach a rung.

    time_attr         the result's time: "training_iteration" counts reports
    max_t             trials end at this time, unless stop_last_trials is False
    grace_period      the first rung: no trial stops before it
    reduction_factor  of the trials at a rung, the best 1 / reduction_factor go on; the rungs are grace_period *
                      reduction_factor ** 0, 1, 2, …
    brackets          above 1, each trial gets a random bracket; each bracket leaves out one more of the first rungs

    Raises ValueError for invalid values.
    """

    needs_metric = True

    def __init__(
        self,
        time_attr: str = "training_iteration",
        metric: str | None = None,
        mode: str | None = None,
        max_t: int = 100,
        grace_period: int = 1,
        reduction_factor: float = 4,
        brackets: int = 1,
        stop_last_trials: bool = True,
    ) -> None:
        super().__init__(metric, mode)
        if not 0 < grace_period <= max_t:
            raise ValueError(f"ASHAScheduler: 0 < grace_period={grace_period} <= max_t={max_t} must hold.")
        if not reduction_factor > 1:
            raise ValueError(f"ASHAScheduler(reduction_factor={reduction_factor}) must be larger than 1.")
        if brackets < 1:
            raise ValueError(f"ASHAScheduler(brackets={brackets}) must be 1 or more.")
        self.time_attr = time_attr
        self._max_t = max_t
        self._factor = reduction_factor
        self._stops_last = stop_last_trials
        self._brackets = [_rungs(grace_period, max_t, reduction_factor, number) for number in range(brackets)]
        self._bracket_of: dict[str, list[_Rung]] = {}
        self._rng = random.Random(brackets)

    def add(self, trial: str, config: dict[str, Any]) -> None:
        largest = max(len(bracket) for bracket in self._brackets)
        weights = [math.exp(len(bracket) - largest) for bracket in self._brackets]
        self._bracket_of[trial] = self._rng.choices(self._brackets, weights)[0]

    def on_result(self, trial: str, result: Result) -> Decision:
        time, value = number_of(result, self.time_attr), self.value(result)
        if time is None or value is None:
            return CONTINUE
        if time >= self._max_t and self._stops_last:
            return FINISH
        return self._at_rungs(trial, time, value)

    def on_complete(self, trial: str, result: Result) -> None:
        time, value = number_of(result, self.time_attr), self.value(result)
        if time is not None and value is not None:
            self._at_rungs(trial, time, value)

    def _at_rungs(self, trial: str, time: float, value: float) -> Decision:
        for rung in self._bracket_of[trial]:
            if time < rung.time:
                continue
            if trial in rung.values:
                if self._stops_last:
                    continue
                return CONTINUE  # this rung has decided
            below = rung.is_below_cutoff(value, self._factor)
            rung.values[trial] = value
            return PRUNE if below else CONTINUE
        return CONTINUE


class _Rung:
    """A time at which trials are compared, with the values that they had there."""

    def __init__(self, time: float) -> None:
        self.time = time
        self.values: dict[str, float] = {}

    def is_below_cutoff(self, value: float, factor: float) -> bool:
        known = sorted(each for each in self.values.values() if not math.isnan(each))
        # Through percent and back, as Ray computes it: the last bit decides where values are equal.
        return bool(known) and value < _quantile(known, (1 - 1 / factor) * 100 / 100)


def _rungs(first: float, max_t: float, factor: float, left_out: int) -> list[_Rung]:
    """The rungs of a bracket, the last one first."""
    count = int(math.log(max_t / first) / math.log(factor) - left_out + 1)
    return [_Rung(first * factor ** (place + left_out)) for place in reversed(range(count))]


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share lies, interpolated linearly as numpy does."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    part = place - low
    if ordered[low] == ordered[high]:
        return ordered[low]
    step = ordered[high] - ordered[low]
    return ordered[high] - step * (1 - part) if part >= 0.5 else ordered[low] + step * part


ASHAScheduler = AsyncHyperBandScheduler


# ---- synchronous HyperBand: at the end of a round the best of a bracket go on, after arXiv 1603.06560
#
# A trial that has come to the end of its round pauses until the others of its bracket are there.


class HyperBandScheduler(TrialScheduler):
    """Stop the worse trials of a bracket when all of them have come to the end of a round.

    time_attr         the result's time: "training_iteration" counts reports
    max_t             the longest time of a trial
    reduction_factor  of the trials of a round, the best 1 / reduction_factor go on
    stop_last_trials  True: trials end at max_t

    ASHAScheduler does not wait and is mostly the better choice. A function must report checkpoints and begin from
    get_checkpoint(), else a trial that has paused starts over.

    >>> config = tune.TuneConfig(metric="loss", mode="min", scheduler=HyperBandScheduler(max_t=27))
    """

    needs_metric = True

    def __init__(
        self,
        time_attr: str = "training_iteration",
        metric: str | None = None,
        mode: str | None = None,
        max_t: int = 81,
        reduction_factor: float = 3,
        stop_last_trials: bool = True,
    ) -> None:
        super().__init__(metric, mode)
        if not max_t > 0:
            raise ValueError(f"HyperBandScheduler(max_t={max_t}) must be positive.")
        if not reduction_factor > 1:
            raise ValueError(f"HyperBandScheduler(reduction_factor={reduction_factor}) must be larger than 1.")
        self.time_attr = time_attr
        self._max_t, self._factor, self._stops_last = max_t, reduction_factor, stop_last_trials
        self._kinds = math.floor(math.log(max_t) / math.log(reduction_factor) + 1e-9) + 1  # of brackets
        self._brackets: list[_Bracket] = []
        self._of: dict[str, _Bracket] = {}
        self._stopped = 0

    def add(self, trial: str, config: dict[str, Any]) -> None:
        if not self._brackets or self._brackets[-1].is_filled:
            halvings = self._kinds - 1 - len(self._brackets) % self._kinds
            size = math.ceil(self._kinds / (halvings + 1) * self._factor**halvings)
            self._brackets.append(_Bracket(size, halvings, self._max_t, self._factor))
        self._of[trial] = self._brackets[-1]
        self._brackets[-1].join(trial)

    def on_result(self, trial: str, result: Result) -> Decision:
        time, value, bracket = number_of(result, self.time_attr), self.value(result), self._of[trial]
        if time is None or value is None or trial not in bracket.live:
            return CONTINUE
        bracket.live[trial] = (time, value)
        if time < bracket.until:
            return CONTINUE
        return self._after_round(bracket, trial) if bracket.is_round_over else PAUSE

    def _after_round(self, bracket: _Bracket, trial: str) -> Decision:
        """All trials of the bracket are there, and this one is the last; the others are told when one is chosen."""
        if bracket.is_last_round:
            if not self._stops_last:
                bracket.until = math.inf
                return CONTINUE
            bracket.live.clear()
            return FINISH
        self._stopped += bracket.halve()
        return CONTINUE if trial in bracket.live else PRUNE

    def choose_trial_to_run(self, controller: Any) -> Any:
        """A trial that has not begun, or one that has paused and whose bracket goes on."""
        paused = [each for each in controller.get_trials() if each.status == "PAUSED"]
        for trial in paused:
            bracket = self._of[trial.id]
            if trial.id not in bracket.live:
                controller.stop_trial(trial)
            elif bracket.live[trial.id][0] < bracket.until:
                return trial
            elif bracket.is_round_over:  # another one, for which it has waited, has failed or ended
                self._after_round(bracket, trial.id)
                return self.choose_trial_to_run(controller)
        for trial in controller.get_trials():
            if trial.status == "PENDING" and controller.has_resources_for_trial(trial):
                return trial
        return None

    def on_complete(self, trial: str, result: Result) -> None:
        self.on_remove(trial)

    def on_remove(self, trial: str) -> None:
        if trial in self._of:
            self._of[trial].live.pop(trial, None)

    def state(self) -> dict[str, int]:
        """How many brackets there are, and how many trials were not among the best of a round."""
        return {"num_brackets": len(self._brackets), "num_stopped": self._stopped}

    def debug_string(self) -> str:
        live = sum(len(bracket.live) for bracket in self._brackets)
        return f"Using HyperBand: {len(self._brackets)} brackets with {live} trials"


class _Bracket:
    """Trials that are compared with each other.

    live   those that are left, with the time and the value of their last result; larger is better
    until  the time at which the round ends
    """

    def __init__(self, size: int, halvings: int, max_t: float, factor: float) -> None:
        self.live: dict[str, tuple[float, float]] = {}
        self._size, self._places, self._halvings, self._max_t, self._factor = size, size, halvings, max_t, factor
        self._round = max(1, int(max_t * factor**-halvings))
        self.until: float = self._round

    @property
    def is_filled(self) -> bool:
        return self._places == 0

    @property
    def is_round_over(self) -> bool:
        return all(time >= self.until for time, _ in self.live.values())

    @property
    def is_last_round(self) -> bool:
        return self._halvings == 0

    def join(self, trial: str) -> None:
        self.live[trial] = (0.0, -math.inf)
        self._places -= 1

    def halve(self) -> int:
        """Begin the next round with the best; returns how many others there were."""
        self._size = math.ceil(self._size / self._factor)
        self._round = int(min(self._round * self._factor, self._max_t - self.until))
        self._halvings -= 1
        self.until += self._round
        ordered = sorted(self.live, key=lambda each: _rank(self.live[each][1]), reverse=True)
        for trial in ordered[self._size :]:
            del self.live[trial]
        return len(ordered[self._size :])


def _rank(value: float) -> float:
    return -math.inf if math.isnan(value) else value


# ---- the median rule


class MedianStoppingRule(TrialScheduler):
    """Stop a trial whose best value is worse than the median of the other trials' running means at the same time.

    time_attr             the result's time; by default seconds of the trial, "time_total_s"
    grace_period          no trial stops before this time
    min_samples_required  how many other trials must have come as far
    hard_stop             False: such a trial pauses, if it has a checkpoint, and goes on when no other trial waits
    min_time_slice        after a pause, a trial runs at least for this time

    >>> config = tune.TuneConfig(metric="loss", mode="min", scheduler=MedianStoppingRule(grace_period=5))
    """

    needs_metric = True

    def __init__(
        self,
        time_attr: str = "time_total_s",
        metric: str | None = None,
        mode: str | None = None,
        grace_period: float = 60.0,
        min_samples_required: int = 3,
        min_time_slice: int = 0,
        hard_stop: bool = True,
    ) -> None:
        super().__init__(metric, mode)
        self.time_attr = time_attr
        self._grace = grace_period
        self._least = min_samples_required
        self._stops, self._slice = hard_stop, min_time_slice
        self._paused_at: dict[str, float] = {}
        self._results: dict[str, list[tuple[float, float]]] = {}  # time, value (larger is better)

    def on_result(self, trial: str, result: Result) -> Decision:
        time, value = number_of(result, self.time_attr), self.value(result)
        if time is None or value is None:
            return CONTINUE
        own = self._results.setdefault(trial, [])
        own.append((time, value))
        if time < self._grace:
            return CONTINUE
        means = [self._mean(other, time) for other in self._results if other != trial and self._came_to(other, time)]
        finite = [mean for mean in means if math.isfinite(mean)]
        if len(finite) < self._least:
            return CONTINUE
        best = max((each for _, each in own if not math.isnan(each)), default=-math.inf)
        if best >= statistics.median(finite):
            return CONTINUE
        if self._stops:
            return PRUNE
        if time - self._paused_at.get(trial, -math.inf) <= self._slice:
            return CONTINUE
        self._paused_at[trial] = time
        return PAUSE

    def on_trial_result(self, controller: Any, trial: Any, result: dict[str, Any]) -> str:
        decision = self.on_result(trial.id, result)
        if decision.kind != "pause":
            return decision
        waits = any(each.status in ("PENDING", "PAUSED") for each in controller.get_trials())
        return decision if waits and controller.can_pause(trial) else CONTINUE

    def on_complete(self, trial: str, result: Result) -> None:
        time, value = number_of(result, self.time_attr), self.value(result)
        if time is not None and value is not None:
            self._results.setdefault(trial, []).append((time, value))

    def _came_to(self, trial: str, time: float) -> bool:
        return self._results[trial][-1][0] >= time

    def _mean(self, trial: str, time: float) -> float:
        values = [value for at, value in self._results[trial] if self._grace <= at <= time]
        return statistics.fmean(values) if values else math.nan

    def __repr__(self) -> str:
        return f"MedianStoppingRule(grace_period={self._grace:g}, min_samples_required={self._least})"
