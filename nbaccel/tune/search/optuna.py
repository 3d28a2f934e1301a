"""OptunaSearch, and the study that it asks for configs and tells of results."""

from __future__ import annotations

import math
import pickle
import random
import re
import secrets
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nbaccel.tune.comparing import nested
from nbaccel.tune.search import Searcher, variant_generator
from nbaccel.tune.search.sample import Categorical, Domain, Float, Integer, LogUniform, Uniform
from nbaccel.tune.search.variant_generator import has_nested_grids, with_point
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.views.sinks import notify

__all__ = ["OptunaSearch"]


class OptunaSearch(Searcher):
    """Let Optuna choose the configs, and learn from the results of trials. Arguments as in Ray Tune.

    space               a dict of domains or of Optuna's distributions, or a function of an Optuna trial that calls
                        trial.suggest_float("lr", 1e-4, 1) and may return further parameters. By default param_space
    metric, mode        if not given in TuneConfig; lists of the same length: several objectives
    points_to_evaluate  configs to begin with; Optuna chooses the parameters that they leave out
    sampler             any sampler of Optuna; by default TPESampler, which knows which trials are under way
    study_name          the name in `storage`; by default the experiment's
    storage             where Optuna keeps the study too: an object or a URL such as "sqlite:///study.db", which
                        optuna-dashboard reads. By default it is in memory, and refilled in a restored experiment
    seed                of the default sampler
    evaluated_rewards   the known results of points_to_evaluate, which are then not run

    As many trials run at one time as fit. With fewer, TuneConfig(max_concurrent_trials=...), Optuna learns more from
    each. `results.study` is the study, for optuna.visualization.

    Raises ImportError if Optuna is not installed, and ValueError for invalid values.
    """

    def __init__(
        self,
        space: Mapping[str, Any] | Callable[[Any], Mapping[str, Any] | None] | None = None,
        metric: str | Sequence[str] | None = None,
        mode: str | Sequence[str] | None = None,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        sampler: Any = None,
        study_name: str | None = None,
        storage: Any = None,
        seed: int | None = None,
        evaluated_rewards: Sequence[Any] | None = None,
    ) -> None:
        optuna = imported()
        if space is not None and not callable(space) and not isinstance(space, Mapping):
            raise ValueError(f"OptunaSearch(space) takes a dict or a function of an Optuna trial, not {space!r}.")
        if sampler is not None and not isinstance(sampler, optuna.samplers.BaseSampler):
            raise ValueError(f"OptunaSearch(sampler) takes a sampler such as optuna.samplers.TPESampler(): {sampler!r}")
        if sampler is not None and seed is not None:
            raise ValueError("OptunaSearch(seed) is for the default sampler: give the seed to your sampler.")
        points = list(points_to_evaluate or [])
        if evaluated_rewards is not None and len(evaluated_rewards) != len(points):
            raise ValueError(
                f"OptunaSearch has {len(evaluated_rewards)} evaluated_rewards for {len(points)} points_to_evaluate: "
                "give one for each."
            )
        _check_goals(metric, mode)
        super().__init__(metric, mode)
        self.space = space
        self.points_to_evaluate, self.evaluated_rewards = points, evaluated_rewards
        self.sampler, self.sampler_seed = sampler, seed
        self.study_name, self.storage = study_name, storage
        self.max_concurrent = 0
        self.evaluated: list[tuple[dict[str, Any], Any, str]] = []  # elsewhere: point, value, state
        self.earlier: list[Any] = []  # Optuna's trials of a file
        self.study: Any = None  # of the latest experiment
        self._face: SuggestedTrials | None = None  # for a caller of suggest()

    @property
    def given(self) -> dict[str, Any]:
        """The arguments as they are stored with the experiment, without a database's password."""
        names = ("space", "metric", "mode", "points_to_evaluate", "sampler", "study_name", "storage")
        given = {name: getattr(self, name) for name in (*names, "evaluated_rewards")} | {"seed": self.sampler_seed}
        given["storage"] = without_password(self.storage)
        return {name: value for name, value in given.items() if value not in (None, [])}

    def seed(self) -> int:
        """The seed of what Optuna does not choose; it is stored with the experiment."""
        return self.sampler_seed if self.sampler_seed is not None else secrets.randbits(32)

    # ---- for whoever asks it without an experiment: a searcher around it, or a loop of one's own

    def set_search_properties(self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any) -> bool:
        if (self.space is not None and config) or (self._metric and metric) or (self._mode and mode):
            return False
        self._metric, self._mode = self._metric or metric, self._mode or mode
        self.space = self.space if self.space is not None else dict(config)
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        return self._suggested().suggest(trial_id)

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        self._suggested().on_trial_result(trial_id, result)

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        self._suggested().on_trial_complete(trial_id, result, error)

    def add_evaluated_point(
        self,
        parameters: dict[str, Any],
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        self.evaluated.append((dict(parameters), value, "FAIL" if error else "PRUNED" if pruned else "COMPLETE"))

    def save(self, checkpoint_path: str) -> None:
        """Write what Optuna has learned into a file, by pickle."""
        study = self.study if self.study is not None else self._suggested().study
        Path(checkpoint_path).write_bytes(pickle.dumps(study.trials))

    def restore(self, checkpoint_path: str) -> None:
        """Read what `save` wrote. Read only files that you trust: pickle runs their code."""
        self.earlier = pickle.loads(Path(checkpoint_path).read_bytes())
        self._face = self.study = None

    def _suggested(self) -> SuggestedTrials:
        if self._face is None:
            # it needs this module

            self._face = SuggestedTrials(self)
        return self._face

    def __repr__(self) -> str:
        return f"OptunaSearch({type(self.sampler).__name__ if self.sampler is not None else 'TPESampler'})"


def imported() -> Any:
    """Optuna. Raises ImportError with the way to install it."""
    try:
        import optuna
    except ImportError as error:
        raise ImportError(
            'OptunaSearch needs Optuna, which cannot be imported: pip install "nbaccel[tune]".'
        ) from error
    return optuna


def _check_goals(metric: Any, mode: Any) -> None:
    modes = list(mode) if isinstance(mode, (list, tuple)) else [mode]
    if any(each not in (None, "min", "max") for each in modes):
        raise ValueError(f"OptunaSearch(mode={mode!r}) must be 'min' or 'max', or a list of them.")
    metrics = len(metric) if isinstance(metric, (list, tuple)) else 1
    if metrics != len(modes) and not (metrics == 1 and isinstance(metric, str)):
        raise ValueError(f"OptunaSearch has {metrics} metrics and {len(modes)} modes: give one mode for each metric.")


# ---- says what Optuna and its storages refuse, with the parameter or the storage and what to do


_REFUSES_OTHER_VALUES = "check_distribution_compatibility"  # Optuna's function, whose messages name no parameter
_PASSWORD = re.compile(r"(://[^:/@]+):[^@]*@")


class WithPassword:
    """The URL of a storage that has a password: a journal keeps its repr, which has none."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __repr__(self) -> str:
        return _PASSWORD.sub(r"\1:…@", repr(self._url))


def without_password(storage: Any) -> Any:
    """What a journal may keep of a storage."""
    return WithPassword(storage) if isinstance(storage, str) and _PASSWORD.search(storage) else storage


def not_opened(storage: Any, error: BaseException) -> ValueError:
    """The error of a storage that cannot be opened, without a password that its URL may have."""
    first = next(iter(str(error).strip().splitlines()), "")
    text = without_password(storage)
    return ValueError(
        f"OptunaSearch(storage={text!r}) cannot be opened: {type(error).__name__}: {first.rstrip('.')}. "
        "It is a storage object of Optuna or a URL: 'sqlite:///study.db' is a file in this folder, "
        "'sqlite:////data/study.db' one with a whole path, whose folder must exist. Other databases need their own "
        "package, such as psycopg2 for PostgreSQL."
    )


def refuse_other_goals(study: Any, modes: Sequence[str]) -> None:
    """Raises ValueError if a study of a storage has been made for other goals."""
    there = ["min" if each.name == "MINIMIZE" else "max" for each in study.directions]
    if there != list(modes):
        does = " and ".join("minimizes" if each == "min" else "maximizes" for each in there)
        wanted = " and ".join(repr(each) for each in modes)
        raise ValueError(
            f"The study {study.study_name!r} in OptunaSearch(storage=...) {does}, but the experiment's mode is "
            f"{wanted}: give that mode, or begin another study, OptunaSearch(study_name=...)."
        )


def of_asking(error: ValueError, study: Any, distributions: Mapping[str, Any]) -> ValueError:
    """The error to raise when Optuna was asked for a config; `error` itself unless a parameter has changed its values.

    distributions  those of a space; a function of a trial has made its own
    """
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None or frame.tb_frame.f_code.co_name != _REFUSES_OTHER_VALUES:
        return error
    before: dict[str, Any] = {name: kind for each in study.trials for name, kind in each.distributions.items()}
    changed = [name for name, kind in distributions.items() if name in before and _differs(before[name], kind)]
    if not changed:  # of a function, which has not got to the other parameters of this trial
        changed = [name for name in before if name not in study.trials[-1].distributions]
    names = " or ".join(repr(name) for name in changed) or "(unknown)"
    here = [f"{_text_of(distributions[name])} now, " for name in changed if name in distributions]
    earlier = "; ".join(_text_of(before[name]) for name in changed)
    return ValueError(
        f"The parameter {names} has other values than in earlier trials of the study {study.study_name!r} "
        f"({''.join(here)}{earlier} before), and Optuna keeps the kind and the choices of a parameter for a whole "
        "study. Give the parameter another name, or begin another study, OptunaSearch(study_name=...). A function can "
        "suggest all choices in each trial and use some of them."
    )


def _differs(one: Any, other: Any) -> bool:
    if type(one) is not type(other) or getattr(one, "log", None) != getattr(other, "log", None):
        return True
    return hasattr(one, "choices") and one != other


def _text_of(distribution: Any) -> str:
    if hasattr(distribution, "choices"):
        return ", ".join(repr(each) for each in distribution.choices)[:200]
    return repr(distribution)


# ---- translates a search space to Optuna's distributions, and what Optuna chose to a config
#
# ```
#   uniform, quniform, loguniform     FloatDistribution        randint, qrandint, lograndint   IntDistribution
#   choice of plain values            CategoricalDistribution  choice of others                … of labels "0: relu"
#   sample_from, randn, and steps on a logarithmic scale       stay random; Optuna does not know them
# ```


_LABEL = 80  # characters of a label


class StudySpace:
    """A space of domains and distributions, as Optuna sees it.

    distributions  Optuna's distributions, by the names of parameters
    stays_random   the names of the parameters that Optuna has no distribution for
    """

    def __init__(self, space: Mapping[str, Any], points: Sequence[Mapping[str, Any]] = ()) -> None:
        self._optuna = imported()
        own = {path: value for path, value in variant_generator.leaves(space) if self._is_distribution(value)}
        plain = variant_generator.copied(space)
        for path in own:
            variant_generator.assign(plain, path, None)
        variant_generator.check(plain)
        self._refuse_grids(plain)
        self._space = space
        self._points = [with_point(space, point, is_strict=True) for point in points]
        self._paths: dict[str, variant_generator.Path] = {}
        self._labels: dict[str, dict[str, Any]] = {}
        self.distributions: dict[str, Any] = {}
        self.stays_random: list[str] = []
        for path, value in variant_generator.leaves(space):
            if path in own or isinstance(value, Domain):
                self._add(path, value)

    def _is_distribution(self, value: Any) -> bool:
        return isinstance(value, self._optuna.distributions.BaseDistribution)

    def _refuse_grids(self, space: Mapping[str, Any]) -> None:
        for path, value in variant_generator.leaves(space):
            if variant_generator.is_grid(value):
                raise ValueError(
                    f"The parameter {variant_generator.named(path)} is a grid_search, but OptunaSearch chooses the "
                    "values itself: write tune.choice([...])."
                )
        if has_nested_grids(space):
            raise ValueError("A choice holds a grid_search, but OptunaSearch chooses the values: use tune.choice.")

    def _add(self, path: variant_generator.Path, value: Any) -> None:
        name = variant_generator.named(path)
        if name in self.distributions or name in self.stays_random:
            raise ValueError(
                f"param_space has two parameters with the name {name!r} (a name with '/', and one within a dict), "
                "which Optuna cannot tell apart: rename one of them."
            )
        found = value if self._is_distribution(value) else self._translated(name, value)
        if found is None:
            self.stays_random.append(name)
        else:
            self.distributions[name], self._paths[name] = found, path

    def _translated(self, name: str, domain: Domain) -> Any:
        kinds = self._optuna.distributions
        if type(getattr(domain, "inner", domain.get_sampler())) not in (Uniform, LogUniform):
            return None
        if isinstance(domain, Float) and not (domain.log and domain.q):
            return kinds.FloatDistribution(domain.lower, domain.upper, log=domain.log, step=domain.q)
        if isinstance(domain, Integer):
            step = domain.step
            if domain.log and step != 1:
                return None
            return kinds.IntDistribution(domain.first * step, domain.last * step, log=domain.log, step=step)
        if isinstance(domain, Categorical):
            if all(each is None or type(each) in (bool, int, float, str) for each in domain.categories):
                return kinds.CategoricalDistribution(tuple(domain.categories))
            self._labels[name] = {_label(index, each): each for index, each in enumerate(domain.categories)}
            return kinds.CategoricalDistribution(tuple(self._labels[name]))
        return None

    def params(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a point that Optuna knows, as Optuna's values."""
        found = {}
        for name, path in self._paths.items():
            try:
                value = variant_generator.at(point, path)
            except (KeyError, IndexError, TypeError):
                continue
            labels = self._labels.get(name)
            found[name] = next(label for label, each in labels.items() if each == value) if labels else value
        return found

    def config(self, number: int, params: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """The config of a trial: what Optuna chose, and what stays random. The same arguments give the same config."""
        config = variant_generator.copied(self._points[number] if number < len(self._points) else self._space)
        for name, path in self._paths.items():
            labels = self._labels.get(name)
            value = labels[params[name]] if labels else params[name]
            variant_generator.assign(config, path, variant_generator.copied(value))
        return next(variant_generator.variants(config, random.Random(seed * 1_000_003 + number)))


def _label(index: int, value: Any) -> str:
    text = getattr(value, "__name__", None) or repr(value)
    return f"{index}: {text}"[:_LABEL]


def from_flat(params: Mapping[str, Any]) -> dict[str, Any]:
    """{"model/lr": 0.1} as {"model": {"lr": 0.1}}."""
    config: dict[str, Any] = {}
    for name, value in params.items():
        *outer, last = name.split("/")
        holder = config
        for part in outer:
            holder = holder.setdefault(part, {})
            if not isinstance(holder, dict):
                raise ValueError(f"The parameters {part!r} and {name!r} of one trial exclude each other: rename one.")
        holder[last] = value
    return config


# ----
# an experiment's study: asks Optuna for the configs of trials, and tells it what they reported and how they ended
#
# ```   next() ── study.ask() ──► Trial            on_result ──► trial.report     for samplers, pruned trials and
# dashboards                                              on_end    ──► COMPLETE | PRUNED | FAIL   replay(trials of a
# journal) ──► study.add_trial ``` What Optuna chose is in the journal, with the distributions, so that another process
# can tell a new study of it.


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
        self._drawn = variant_generator.drawn_names({**space, **own})
        self._space = StudySpace({**space, **own}, points)
        self._refuse_two_spaces(space)
        if made == 0 and self._space.stays_random:
            names = ", ".join(self._space.stays_random)
            notify("tune", f"Optuna does not choose {names}: it has no distribution for them, and they stay random.")
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
                raise not_opened(search.storage, error) from error
            finally:
                optuna.logging.set_verbosity(level)
        refuse_other_goals(study, modes)  # Optuna ignores them where it loads a study
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
            optuna_trial = self.study.ask(self._space.distributions)
            extra = self._suggest(optuna_trial) or {} if self._suggest else {}
        except ValueError as error:
            raise of_asking(error, self.study, self._space.distributions) from error
        if not isinstance(extra, Mapping):
            raise ValueError(
                f"The function of OptunaSearch(space) returned {extra!r}: it may return a dict of further parameters."
            )
        name = f"{self._prefix}_{number:05d}"
        optuna_trial.set_user_attr(_OURS, name)
        chosen = {
            each: (value, self._optuna.distributions.distribution_to_json(optuna_trial.distributions[each]))
            for each, value in optuna_trial.params.items()
        }
        trial = Trial(name, number, {**self._config(number, optuna_trial.params), **from_flat(extra)}, chosen=chosen)
        trial.drawn = tuple(dict.fromkeys((*self._drawn, *chosen)))
        self._made += 1
        self._live[name] = optuna_trial
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
        optuna_trial = self._live.get(trial.id)
        step, value = result.get("training_iteration"), self._values(result)
        if optuna_trial is None or value is None or len(value) > 1 or not isinstance(step, int):
            return
        if step > self._steps.get(trial.id, -1):  # Optuna keeps the first value of a step
            self._steps[trial.id] = step
            optuna_trial.report(value[0], step)

    def on_end(self, trial: Trial) -> None:
        """Tell how a trial has ended for good."""
        self._steps.pop(trial.id, None)
        state, values = self._outcome(trial)
        optuna_trial = self._live.pop(trial.id, None)
        if optuna_trial is None:
            self._add_past(trial)
        elif state.name == "COMPLETE":
            self.study.tell(optuna_trial, values)
        else:
            self.study.tell(optuna_trial, state=state)

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


# ---- optunaSearch as a Searcher that somebody else asks: suggest(), on_trial_result(), on_trial_complete(), save()


class SuggestedTrials:
    """The trials that were suggested to a caller, by the caller's ids."""

    def __init__(self, search: OptunaSearch) -> None:
        metrics = list(search.metric) if isinstance(search.metric, (list, tuple)) else [search.metric]
        modes = list(search.mode) if isinstance(search.mode, (list, tuple)) else [search.mode]
        if search.space is None or None in (*metrics, *modes):
            raise ValueError(
                "OptunaSearch.suggest() needs a space, a metric and a mode: OptunaSearch(space={…}, metric='loss', "
                "mode='min'), or set_search_properties('loss', 'min', {…}) before."
            )
        self._source = StudySource(search, {}, -1, search.seed(), "suggested", "suggested", (metrics, modes))
        self._trials: dict[str, Trial] = {}

    def suggest(self, trial_id: str) -> dict[str, Any]:
        trial = self._source.next()
        assert trial is not None  # there is no end
        self._trials[trial_id] = trial
        return trial.config

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        self._source.on_result(self._trials[trial_id], result)

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None, error: bool) -> None:
        trial = self._trials.pop(trial_id)
        trial.state = TrialState.ERROR if error or result is None else TrialState.DONE
        trial.reports = [{"report": 0, "metrics": result}] if result is not None else []
        self._source.on_end(trial)

    @property
    def study(self) -> Any:
        return self._source.study
