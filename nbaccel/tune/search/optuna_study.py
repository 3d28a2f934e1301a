"""An experiment's study: asks Optuna for the configs of trials, and tells it what they reported and how they ended.

```
  next() ── study.ask() ──► Trial            on_result ──► trial.report     for samplers, pruned trials and dashboards
                                             on_end    ──► COMPLETE | PRUNED | FAIL
  replay(trials of a journal) ──► study.add_trial
```
What Optuna chose is in the journal, with the distributions, so that another process can tell a new study of it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from nbaccel.train.saying import say
from nbaccel.tune.schedulers.trial_scheduler import nested
from nbaccel.tune.search import optuna_errors, variants
from nbaccel.tune.search.optuna import OptunaSearch, imported
from nbaccel.tune.search.optuna_space import StudySpace, from_flat
from nbaccel.tune.trial import Trial, TrialState

_OURS = "nbaccel_trial"  # the attribute of Optuna's trial with the id of ours


class StudySource:
    """The trials of a search by Optuna, for the thread of the experiment.

    metrics, modes  one of each, or several for a search with several goals
    seed            of what stays random, and of nothing else
    prefix          the beginning of the ids of trials
    """

    def __init__(
        self,
        search: OptunaSearch,
        space: Mapping[str, Any],
        num_samples: int,
        seed: int,
        prefix: str,
        name: str,
        goals: tuple[list[str], list[str]],
        made: int = 0,
    ) -> None:
        self._optuna = imported()
        self._search, self._num_samples, self._seed, self._prefix = search, num_samples, seed, prefix
        self._metrics, modes = goals
        self._made = made
        self._live: dict[str, Any] = {}  # Optuna's trials that are under way, by our id
        self._steps: dict[str, int] = {}  # the last step that Optuna knows of each
        self._suggest: Any = search.space if callable(search.space) else None
        own: Mapping[str, Any] = search.space if isinstance(search.space, Mapping) else {}
        runs_points = search.evaluated_rewards is None and self._suggest is None
        points = search.points_to_evaluate if runs_points else []
        self._drawn = variants.drawn_names({**space, **own})
        self._space = StudySpace({**space, **own}, points)
        self._refuse_two_spaces(space)
        if made == 0 and self._space.stays_random:
            names = ", ".join(self._space.stays_random)
            say("tune", f"Optuna does not choose {names}: it has no distribution for them, and they stay random.")
        self.study = self._opened(name, modes)
        self._known = {each.user_attrs.get(_OURS): each for each in self.study.trials}
        search.study = self.study
        if made == 0:
            self._learn()
        self._begin_with_points()

    def _refuse_two_spaces(self, space: Mapping[str, Any]) -> None:
        if self._search.space is None:
            return
        twice = [each for each in StudySpace(space).distributions if self._suggest or each in self._space.distributions]
        if twice:
            raise ValueError(
                f"OptunaSearch(space=...) and param_space both give domains ({', '.join(twice)}): give the space once."
            )

    def _opened(self, name: str, modes: list[str]) -> Any:
        optuna, search = self._optuna, self._search
        sampler = search.sampler
        level = optuna.logging.get_verbosity()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant_liar is called experimental
            if sampler is None:
                # In a restored experiment another seed, else its first choices would be those of the first run.
                seed = None if search.sampler_seed is None else search.sampler_seed + self._made
                sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
            try:
                optuna.logging.set_verbosity(max(level, optuna.logging.WARNING))
                study = optuna.create_study(
                    study_name=search.study_name or name,
                    storage=search.storage,
                    sampler=sampler,
                    pruner=optuna.pruners.NopPruner(),
                    directions=["minimize" if mode == "min" else "maximize" for mode in modes],
                    load_if_exists=True,
                )
            except Exception as error:  # of whatever library the storage needs
                if search.storage is None:
                    raise
                raise optuna_errors.not_opened(search.storage, error) from error
            finally:
                optuna.logging.set_verbosity(level)
        optuna_errors.refuse_other_goals(study, modes)  # Optuna ignores them where it loads a study
        return study

    def _begin_with_points(self) -> None:
        points, rewards = self._search.points_to_evaluate, self._search.evaluated_rewards
        params = [dict(point) if self._suggest else self._space.params(point) for point in points]
        if rewards is None:
            for chosen in params[self._made :]:
                self.study.enqueue_trial(chosen, skip_if_exists=self._made > 0)
            return
        if self._suggest:
            raise ValueError("evaluated_rewards need a space of domains or distributions, not a function.")
        if any(each.user_attrs.get(_OURS) == "evaluated" for each in self.study.trials):
            return
        for chosen, reward in zip(params, rewards, strict=True):
            values = list(reward) if isinstance(reward, (list, tuple)) else [reward]
            if any(each != each for each in values):
                raise ValueError(
                    f"evaluated_rewards has {reward!r} for {chosen!r}: leave out points whose result is NaN."
                )
            missing = self._space.distributions.keys() - chosen.keys()
            if missing:
                raise ValueError(f"A point with an evaluated reward lacks {', '.join(sorted(missing))}: give all.")
            self._add("evaluated", chosen, self._space.distributions, self._state("COMPLETE"), values, {})

    def _learn(self) -> None:
        """Begin with what the search knows of other experiments."""
        ended = [each for each in self._search.earlier if each.state.is_finished()]
        self.study.add_trials(ended)
        for point, value, state in self._search.evaluated:
            params = self._space.params(point)
            known = {name: self._space.distributions[name] for name in params}
            values = None if state == "FAIL" else [float(value)]
            self._add("evaluated", params, known, self._state(state), values, {})

    # ---- asking

    @property
    def is_exhausted(self) -> bool:
        return 0 <= self._num_samples <= self._made

    def all_at_once(self) -> list[Trial]:
        """No trial: each is chosen when it can start, from what is known then."""
        return []

    def next(self) -> Trial | None:
        """Ask for the next trial; None after the last."""
        if self.is_exhausted:
            return None
        number = self._made
        try:
            asked = self.study.ask(self._space.distributions)
            extra = self._suggest(asked) or {} if self._suggest else {}
        except ValueError as error:
            raise optuna_errors.of_asking(error, self.study, self._space.distributions) from error
        if not isinstance(extra, Mapping):
            raise ValueError(
                f"The function of OptunaSearch(space) returned {extra!r}: it may return a dict of further parameters."
            )
        name = f"{self._prefix}_{number:05d}"
        asked.set_user_attr(_OURS, name)
        chosen = {
            each: (value, self._optuna.distributions.distribution_to_json(asked.distributions[each]))
            for each, value in asked.params.items()
        }
        trial = Trial(name, number, {**self._config(number, asked.params), **from_flat(extra)}, chosen=chosen)
        trial.drawn = tuple(dict.fromkeys((*self._drawn, *chosen)))
        self._made += 1
        self._live[name] = asked
        return trial

    def _config(self, number: int, params: Mapping[str, Any]) -> dict[str, Any]:
        config = self._space.config(number, params, self._seed)
        return {**config, **from_flat(params)} if self._suggest else config

    def config(self, trial: Trial) -> dict[str, Any]:
        """The config of a trial of a journal, made again. Raises ValueError for another space."""
        try:
            return self._config(trial.number, {name: value for name, (value, _) in trial.chosen.items()})
        except KeyError as error:
            raise ValueError(f"param_space is not that of trial {trial.id}: its value of {error} is unknown.") from None

    # ---- telling

    def on_result(self, trial: Trial, result: Mapping[str, Any], ends: bool = False) -> None:
        """Tell of a report."""
        asked = self._live.get(trial.id)
        step, value = result.get("training_iteration"), self._values(result)
        if asked is None or value is None or len(value) > 1 or not isinstance(step, int):
            return
        if step > self._steps.get(trial.id, -1):  # Optuna keeps the first value of a step
            self._steps[trial.id] = step
            asked.report(value[0], step)

    def on_end(self, trial: Trial) -> None:
        """Tell how a trial has ended for good."""
        self._steps.pop(trial.id, None)
        state, values = self._outcome(trial)
        asked = self._live.pop(trial.id, None)
        if asked is None:
            self._add_past(trial)
        elif state.name == "COMPLETE":
            self.study.tell(asked, values)
        else:
            self.study.tell(asked, state=state)

    def replay(self, trials: Iterable[Trial]) -> None:
        """Tell of the trials of a journal. In a storage, those that the study has stay as they are."""
        running = self._state("RUNNING")
        for trial in trials:
            known = self._known.get(trial.id)
            if known is not None and known.state == running:  # of a process that has ended
                self.study.tell(known.number, state=self._state("FAIL"))
                known = None
            if trial.has_ended and known is None:
                self._add_past(trial)

    def _add_past(self, trial: Trial) -> None:
        distributions = {
            name: self._optuna.distributions.json_to_distribution(text) for name, (_, text) in trial.chosen.items()
        }
        state, values = self._outcome(trial)
        steps = {}
        for each in trial.reports:
            step, value = each["metrics"].get("training_iteration"), self._values(each["metrics"])
            if value is not None and len(value) == 1 and isinstance(step, int):
                steps[step] = value[0]
        params = {name: value for name, (value, _) in trial.chosen.items()}
        self._add(trial.id, params, distributions, state, values, steps)

    def _add(self, name: str, params: Any, distributions: Any, state: Any, values: Any, steps: Any) -> None:
        self.study.add_trial(
            self._optuna.trial.create_trial(
                state=state,
                values=values if state.name in ("COMPLETE", "PRUNED") else None,
                params=params,
                distributions=distributions,
                user_attrs={_OURS: name},
                intermediate_values=steps,
            )
        )

    def _outcome(self, trial: Trial) -> tuple[Any, list[float] | None]:
        values = self._values(trial.last)
        if trial.state is TrialState.ERROR or values is None:
            return self._state("FAIL"), None
        is_pruned = trial.is_pruned and len(values) == 1
        return self._state("PRUNED" if is_pruned else "COMPLETE"), values

    def _values(self, metrics: Mapping[str, Any]) -> list[float] | None:
        """The values of the metrics; None if one is missing or no number."""
        found = [nested(metrics, name) for name in self._metrics]
        if any(not isinstance(each, (int, float)) or math.isnan(each) for each in found):
            return None
        return [float(each) for each in found]

    def _state(self, name: str) -> Any:
        return self._optuna.trial.TrialState[name]
