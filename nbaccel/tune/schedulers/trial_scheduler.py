"""What a scheduler of trials decides; those that end trials early, and the one that lets each run to its end."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from nbaccel.tune.comparing import nested
from nbaccel.tune.search import variant_generator
from nbaccel.tune.search.sample import Domain, Function
from nbaccel.views import wording

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
    max_t             trials have finished at this time, unless stop_last_trials is False
    grace_period      the first rung: no trial stops before it
    reduction_factor  of the trials at a rung, the best 1 / reduction_factor go on; the rungs are grace_period times
                      the powers of it
    brackets          above 1, trials are spread at random over brackets, each of which leaves out one more of the first
                      rungs
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
    max_t             the longest that a trial goes on
    reduction_factor  of the trials of a round, the best 1 / reduction_factor go on
    stop_last_trials  trials that have come to max_t end; else they go on

    ASHAScheduler, which does not wait, is the better choice unless the waiting is wanted. A function must report
    checkpoints and begin from get_checkpoint(), else a trial that has paused begins anew.

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
    min_samples_required  so many other trials must have come as far
    hard_stop             False: such a trial pauses, if it has a checkpoint, and goes on when no other one waits
    min_time_slice        a trial that has gone on after a pause goes on for this long at least

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


# ---- population based training: weak trials continue from the checkpoints of strong ones, with changed parameters
#
# After "Population Based Training of Neural Networks" (arXiv 1711.09846).


@dataclass(slots=True)
class _Member:
    """A trial of the population."""

    config: dict[str, Any]
    score: float | None = None  # larger is better
    decided_at: float = 0.0
    has_checkpoint: bool = False


class PopulationBasedTraining(TrialScheduler):
    """Let the worst trials continue from the checkpoints of the best, with changed parameters.

    time_attr, perturbation_interval  a trial is compared each time that so much has passed, "time_total_s" by default
    burn_in_period                    not before this time
    hyperparam_mutations              by parameter: a domain, a function, a list of values, or a dict of these
    quantile_fraction                 the worst and the best share of the trials, from 0 to 0.5
    resample_probability              draw a new value instead of changing the old one
    perturbation_factors              by which a number is multiplied; in a list, the value beside it is taken
    custom_explore_fn                 called with the new config, returns it changed
    log_config                        write each exchange into pbt_global.txt and pbt_policy_<trial>.txt
    require_attrs                     a result without time or metric is an error
    synch                             trials wait for each other at each interval, and all are compared at one time
    seed                              not in Ray: makes the choices repeatable

    A function must report checkpoints and begin from get_checkpoint(): a trial without a checkpoint is no donor. A
    class of trainables saves when it is one of the best.

    >>> pbt = PopulationBasedTraining(
    ...     "training_iteration", perturbation_interval=5, hyperparam_mutations={"lr": tune.loguniform(1e-4, 1e-1)})
    >>> config = tune.TuneConfig(metric="loss", mode="min", num_samples=8, scheduler=pbt)
    """

    needs_metric = needs_search_space = True

    def __init__(
        self,
        time_attr: str = "time_total_s",
        metric: str | None = None,
        mode: str | None = None,
        perturbation_interval: float = 60.0,
        burn_in_period: float = 0.0,
        hyperparam_mutations: Mapping[str, Any] | None = None,
        quantile_fraction: float = 0.25,
        resample_probability: float = 0.25,
        perturbation_factors: tuple[float, float] = (1.2, 0.8),
        custom_explore_fn: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        log_config: bool = True,
        require_attrs: bool = True,
        synch: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(metric, mode)
        if not hyperparam_mutations and custom_explore_fn is None:
            raise ValueError("PopulationBasedTraining needs hyperparam_mutations or custom_explore_fn.")
        if not 0 <= quantile_fraction <= 0.5:
            raise ValueError(f"PopulationBasedTraining(quantile_fraction={quantile_fraction}) must be from 0 to 0.5.")
        if perturbation_interval <= 0:
            raise ValueError(
                f"PopulationBasedTraining(perturbation_interval={perturbation_interval}) must be positive."
            )
        self.time_attr = time_attr
        self._interval = perturbation_interval
        self._burn_in = burn_in_period
        self._mutations = dict(hyperparam_mutations or {})
        self._fraction = quantile_fraction
        self._resample = resample_probability
        self._factors = tuple(perturbation_factors)
        self._explore_fn = custom_explore_fn
        self._requires = require_attrs
        self._is_synchronous, self._logs = synch, log_config
        self.num_perturbations = 0
        self._members: dict[str, _Member] = {}
        self._rng = random.Random(seed if seed is not None else random.getrandbits(48))
        for name, mutation in self._mutations.items():
            _check_mutation(name, mutation)

    def add(self, trial: str, config: dict[str, Any]) -> None:
        for name, mutation in self._mutations.items():
            if name not in config:
                config[name] = self._drawn(mutation)
        self._members[trial] = _Member(variant_generator.copied(config))

    def debug_string(self) -> str:
        return f"PopulationBasedTraining: {self.num_perturbations} perturbs"

    def last_scores(self, trials: Sequence[Any]) -> list[float]:
        """The scores of those of the trials that have been compared and have not ended; larger is better."""
        live = [self._members[trial.trial_id].score for trial in trials if not trial.is_finished()]
        return [score for score in live if score is not None]

    def reset_stats(self) -> None:
        """Count exchanges from 0."""
        self.num_perturbations = 0

    def on_complete(self, trial: str, result: Result) -> None:
        """A trial that has ended is compared with nobody any more."""
        self.on_remove(trial)

    def on_remove(self, trial: str) -> None:
        if trial in self._members:
            self._members[trial].score = None

    def on_result(self, trial: str, result: Result) -> Decision:
        time, score = number_of(result, self.time_attr), self.value(result)
        if time is None or nested(result, self.metric or "") is None:
            if self._requires:
                missing = self.time_attr if time is None else self.metric
                raise ValueError(
                    f"PopulationBasedTraining needs {missing!r} in each report, and trial {trial} reported "
                    f"{', '.join(sorted(map(str, result)))}. Report it, or pass require_attrs=False."
                )
            return CONTINUE
        member = self._members[trial]
        if time < self._burn_in or time - member.decided_at < self._interval:
            return CONTINUE
        member.decided_at = time
        member.score = -math.inf if score is None or math.isnan(score) else score
        if self._is_synchronous:
            return PAUSE
        worst, best = self._quantiles()
        donors = [each for each in best if self._members[each].has_checkpoint]
        if trial not in worst or not donors:
            return SAVE if trial in best else CONTINUE
        return self._exploits(trial, self._rng.choice(donors))

    def _exploits(self, trial: str, donor: str) -> Decision:
        member = self._members[trial]
        member.config = self.explore(self._members[donor].config)
        member.has_checkpoint = False
        member.decided_at = self._members[donor].decided_at  # its time goes on from the donor's checkpoint
        self.num_perturbations += 1
        return Decision("exploit", donor, member.config)

    # ---- trials that wait for each other (synch=True), or for room

    def choose_trial_to_run(self, controller: Any) -> Any:
        """The next trial; where trials wait for each other, none goes on before all are there and were compared."""
        live = [each for each in controller.get_trials() if not each.has_ended]
        if self._is_synchronous and live and all(each.status == "PAUSED" for each in live):
            self._compare_all(controller, live)
        wanted = ("PENDING",) if self._is_synchronous else ("PENDING", "PAUSED")
        ready = [each for each in live if each.status in wanted and controller.has_resources_for_trial(each)]
        return min(ready, key=lambda each: self._members[each.id].decided_at, default=None)

    def on_trial_result(self, controller: Any, trial: Any, result: Result) -> str:
        """Decide; a trial that was compared makes room if others wait, so that all of a population come forward."""
        before = self._members[trial.id].decided_at
        decision = self.on_result(trial.id, result)
        if decision.kind == "exploit":
            self._note(controller, trial, decision)
        was_compared = self._members[trial.id].decided_at != before
        if decision.kind != "continue" or not was_compared or not controller.can_pause(trial):
            return decision
        return PAUSE if any(each.status in ("PENDING", "PAUSED") for each in controller.get_trials()) else decision

    def _note(self, controller: Any, trial: Any, decision: Decision) -> None:
        if self._logs:
            donor = controller.get_trial(decision.donor)
            note(trial, donor, trial.config, dict(decision.config or {}))

    def _compare_all(self, controller: Any, live: list[Any]) -> None:
        worst, best = self._quantiles()
        donors = [each for each in best if self._members[each].has_checkpoint]
        for trial in live:
            if trial.id in worst and donors:
                decision = self._exploits(trial.id, self._rng.choice(donors))
                self._note(controller, trial, decision)
                controller.exploit(trial, decision)
            else:
                controller.let_go_on(trial)

    def replay(self, trial: str, results: Sequence[Result]) -> None:
        """Do nothing: trials of a restored experiment are compared by what they report from then on."""

    def has_checkpoint(self, trial: str) -> None:
        if trial in self._members:
            self._members[trial].has_checkpoint = True

    def _quantiles(self) -> tuple[list[str], list[str]]:
        """The worst and the best trials; none while too few have been compared."""
        scored = [(member.score, name) for name, member in self._members.items() if member.score is not None]
        ordered = [name for _, name in sorted(scored, key=lambda pair: pair[0])]
        if len(ordered) <= 1:
            return [], []
        size = math.ceil(len(ordered) * self._fraction)
        if size > len(ordered) / 2:
            size = math.floor(len(ordered) / 2)
        return ordered[:size], ordered[len(ordered) - size :]

    # ---- new parameters

    def explore(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """A donor's parameters, changed."""
        changed = self._changed(variant_generator.copied(config), self._mutations)
        if self._explore_fn is not None:
            changed = self._explore_fn(changed)
            if not isinstance(changed, dict):
                raise ValueError(f"custom_explore_fn must return the config, not {changed!r}.")
        return changed

    def _changed(self, config: dict[str, Any], mutations: Mapping[str, Any]) -> dict[str, Any]:
        for name, mutation in mutations.items():
            if isinstance(mutation, Mapping):
                config[name] = self._changed(config[name], mutation)
            elif isinstance(mutation, (list, tuple)):
                config[name] = self._beside(config[name], mutation)
            else:
                config[name] = self._scaled(config[name], mutation)
        return config

    def _beside(self, value: Any, values: Any) -> Any:
        if value not in values or self._rng.random() < self._resample:
            return self._rng.choice(values)
        place = list(values).index(value) + self._rng.choice((-1, 1))
        return values[min(max(place, 0), len(values) - 1)]

    def _scaled(self, value: Any, mutation: Any) -> Any:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or self._rng.random() < self._resample:
            return self._drawn(mutation)
        scaled = value * self._rng.choice(self._factors)
        return round(scaled) if isinstance(value, int) else scaled

    def _drawn(self, mutation: Any) -> Any:
        if isinstance(mutation, Domain):
            return mutation.draw(self._rng)
        if isinstance(mutation, Mapping):
            return {name: self._drawn(inner) for name, inner in mutation.items()}
        return self._rng.choice(mutation) if isinstance(mutation, (list, tuple)) else mutation()


def _check_mutation(name: str, mutation: Any) -> None:
    if isinstance(mutation, Mapping) and "grid_search" not in mutation:
        for inner, each in mutation.items():
            _check_mutation(f"{name}/{inner}", each)
    elif isinstance(mutation, Function) or not (
        isinstance(mutation, Domain) or callable(mutation) or (isinstance(mutation, (list, tuple)) and mutation)
    ):
        raise ValueError(
            f"hyperparam_mutations[{name!r}] must be a domain such as tune.uniform(0, 1), a function without "
            f"arguments, a list of values, or a dict of these, not {mutation!r}."
        )


# ---- the exchanges of a population, in files as Ray Tune writes them: `pbt_global.txt`, and `pbt_policy_<trial>.txt`
#
# A line is a JSON list: the names of the trial and of its donor, their iterations, the config before and the one
# after. A trial's file begins with that of its donor, so that it is the whole schedule of what the trial has become.


def note(trial: Any, donor: Any, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Append an exchange. Raises OSError if the disk is full."""
    if not trial.experiment_folder:
        return
    counts = [int(each.last.get("training_iteration", 0)) for each in (trial, donor)]
    line = json.dumps([str(trial), str(donor), *counts, before, after], default=_text) + "\n"
    own, others = (os.path.join(trial.experiment_folder, f"pbt_policy_{each.id}.txt") for each in (trial, donor))
    if os.path.exists(others) and others != own:
        shutil.copyfile(others, own)
    for path in (os.path.join(trial.experiment_folder, "pbt_global.txt"), own):
        with open(path, "a", encoding="utf-8") as file:
            file.write(line)


def read(path: str) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
    """The schedule of a trial: at which iteration, the config before, the one after. Raises ValueError for none."""
    found = []
    with open(os.path.expanduser(path), encoding="utf-8") as file:
        for number, text in enumerate(file):
            try:
                _, _, _, at, before, after = json.loads(text)
            except ValueError:
                raise ValueError(f"Line {number + 1} of {path} is no exchange of PopulationBasedTraining.") from None
            found.append((int(at), before, after))
    if not found:
        raise ValueError(f"{path} has no exchange: the trial kept its config. Run that config again.")
    return found


def _text(value: Any) -> str:
    return wording.text_of(value, text=repr)


# ---- populationBasedTrainingReplay: runs one trial through the configs that a trial of a population had


class PopulationBasedTrainingReplay(TrialScheduler):
    """Run one trial with the first config of a schedule, and change its config when the schedule does.

    policy_file  `pbt_policy_<trial>.txt` of an experiment with PopulationBasedTraining
    """

    def __init__(self, policy_file: str) -> None:
        super().__init__()
        self._file = os.path.expanduser(policy_file)
        if not os.path.exists(self._file):
            raise ValueError(f"PopulationBasedTrainingReplay: there is no file {self._file}.")
        schedule = read(self._file)
        self.config = dict(schedule[0][1])
        self._later = [(at, after) for at, _, after in schedule]
        self._trial = ""
        self._next: dict[str, Any] | None = None  # the config with which the trial goes on

    def add(self, trial: str, config: dict[str, Any]) -> None:
        if self._trial:
            raise ValueError("PopulationBasedTrainingReplay runs one trial: leave out num_samples and grids.")
        self._trial = trial
        config.clear()
        config.update(variant_generator.copied(self.config))

    def on_result(self, trial: str, result: Result) -> Decision:
        if not self._later or result["training_iteration"] < self._later[0][0]:
            return CONTINUE
        self._next = self._later.pop(0)[1]
        return PAUSE

    def choose_trial_to_run(self, controller: Any) -> Any:
        trial = super().choose_trial_to_run(controller)
        if trial is not None and trial.status == "PAUSED" and self._next is not None:
            controller.exploit(trial, Decision("exploit", trial.id, self._next))
            self._next = None
        return trial

    def debug_string(self) -> str:
        return f"PopulationBasedTraining replay: {len(self._later)} changes to come"
