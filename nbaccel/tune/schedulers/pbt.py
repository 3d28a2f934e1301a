"""Population based training: weak trials continue from the checkpoints of strong ones, with changed parameters.

After "Population Based Training of Neural Networks" (arXiv 1711.09846).
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbaccel.tune.comparing import nested
from nbaccel.tune.schedulers.trial_scheduler import (
    CONTINUE,
    PAUSE,
    SAVE,
    Decision,
    Result,
    TrialScheduler,
    number_of,
)
from nbaccel.tune.search import variant_generator
from nbaccel.tune.search.sample import Domain, Function
from nbaccel.views import wording


@dataclass(slots=True)
class _Member:
    """A trial of the population."""

    config: dict[str, Any]
    score: float | None = None  # larger is better
    decided_at: float = 0.0
    has_checkpoint: bool = False


class PopulationBasedTraining(TrialScheduler):
    """Let the worst trials continue from the checkpoints of the best, with changed parameters.

    time_attr              the result's time; by default seconds of the trial, "time_total_s"
    perturbation_interval  a trial is compared with the others each time this much time has passed
    burn_in_period         no trial is compared before this time
    hyperparam_mutations   by parameter: a domain, a function, a list of values, or a dict of these
    quantile_fraction      the worst and the best share of the trials, from 0 to 0.5
    resample_probability   of drawing a new value instead of changing the old one
    perturbation_factors   a number is multiplied by one of these; a list's value is replaced by its neighbour
    custom_explore_fn      called with the new config, returns it changed
    log_config             write each exchange into pbt_global.txt and pbt_policy_<trial>.txt
    require_attrs          a result without time or metric is an error
    synch                  trials wait for each other at each interval, and are then compared together
    seed                   not in Ray: makes the choices repeatable

    A function must report checkpoints and begin from get_checkpoint(): without a checkpoint, no trial can copy it. A
    Trainable class saves when it is one of the best.

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
        """An ended trial is no longer compared."""
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
