"""Searches choose the configs of trials: grids and random values, Optuna in `search.optuna`, or one of your own."""

from __future__ import annotations

import copy
import glob
import inspect
import os
from typing import Any

from nbaccel import elsewhere
from nbaccel.tune.search.variant_generator import BasicVariantGenerator

TRIAL_INDEX = "__trial_index__"


class Searcher:
    """Override suggest() and on_trial_complete(), and for restored experiments save() and restore().

    >>> class Halving(Searcher):
    ...     def __init__(self): super().__init__(metric="loss", mode="min"); self.x = 1.0
    ...     def suggest(self, trial_id): self.x /= 2; return {"x": self.x}
    ...     def on_trial_complete(self, trial_id, result=None, error=False): ...
    >>> searched = tune.TuneConfig(metric="loss", mode="min", num_samples=3, search_alg=Halving())
    >>> results = tune.Tuner(lambda config: {"loss": config["x"]}, tune_config=searched).fit()
    >>> results.get_best_result().config
    {'x': 0.125}
    """

    FINISHED = "FINISHED"  # suggest() returns it when there are no more configs
    CKPT_FILE_TMPL = "searcher-state-{}.pkl"

    def __init__(self, metric: Any = None, mode: Any = None) -> None:
        for each in mode if isinstance(mode, (list, tuple)) else [mode]:
            if each not in (None, "min", "max"):
                raise ValueError(f"{type(self).__name__}(mode={mode!r}) must be 'min' or 'max', or a list of them.")
        self._metric, self._mode = metric, mode

    @property
    def metric(self) -> Any:
        return getattr(self, "_metric", None)

    @property
    def mode(self) -> Any:
        return getattr(self, "_mode", None)

    def set_search_properties(self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any) -> bool:
        """Take metric, mode and search space of the experiment; False if the searcher has its own."""
        return False

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        """The config of a new trial; None if there is none now, FINISHED after the last."""
        raise NotImplementedError(f"{type(self).__name__} has no suggest(self, trial_id): it returns a config.")

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """A trial has reported, and goes on."""

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """A trial has ended: with its last result, or with an error."""
        raise NotImplementedError(f"{type(self).__name__} has no on_trial_complete(self, trial_id, result, error).")

    def add_evaluated_point(
        self,
        parameters: dict[str, Any],
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """Learn from a config that was tried elsewhere."""
        raise NotImplementedError(f"{type(self).__name__} learns from no points of other experiments.")

    def add_evaluated_trials(self, trials_or_analysis: Any, metric: str) -> None:
        """Learn from the trials of another experiment."""
        trials = getattr(trials_or_analysis, "trials", None) or getattr(
            trials_or_analysis, "_trials", trials_or_analysis
        )
        for trial in trials:
            value = trial.last_result.get(metric)
            if value is not None:
                self.add_evaluated_point(trial.config, value, error=trial.status == "ERROR")

    def set_max_concurrency(self, max_concurrent: int) -> bool:
        """Whether the searcher enforces this limit itself."""
        return False

    def save(self, checkpoint_path: str) -> None:
        """Write its state into a file; called when a trial has ended."""
        raise NotImplementedError(f"{type(self).__name__} has no save(self, checkpoint_path).")

    def restore(self, checkpoint_path: str) -> None:
        """Read its state from the file; called when an experiment is restored."""
        raise NotImplementedError(f"{type(self).__name__} has no restore(self, checkpoint_path).")

    def get_state(self) -> dict[str, Any]:
        """Its state, for `set_state`."""
        raise NotImplementedError(f"{type(self).__name__} has no get_state(self): save(checkpoint_path) writes a file.")

    def set_state(self, state: dict[str, Any]) -> None:
        """Take the state that `get_state` returned."""
        raise NotImplementedError(f"{type(self).__name__} has no set_state(self, state): restore(checkpoint_path).")

    def save_to_dir(self, checkpoint_dir: str, session_str: str = "default") -> None:
        """Save into a file of the folder, replaced atomically."""
        path = os.path.join(checkpoint_dir, self.CKPT_FILE_TMPL.format(session_str))
        part = os.path.join(checkpoint_dir, f".{os.path.basename(path)}")
        self.save(part)
        os.replace(part, path)

    def restore_from_dir(self, checkpoint_dir: str) -> None:
        """Restore from the latest file of a folder. Raises RuntimeError if there is none."""
        found = glob.glob(os.path.join(glob.escape(checkpoint_dir), self.CKPT_FILE_TMPL.format("*")))
        if not found:
            raise RuntimeError(
                f"{checkpoint_dir} has no {self.CKPT_FILE_TMPL.format('*')}, which save_to_dir() writes."
            )
        self.restore(max(found, key=os.path.getmtime))


class Wrapped(Searcher):
    """The base of searchers around another one."""

    def __init__(self, searcher: Searcher) -> None:
        if not isinstance(searcher, Searcher):
            raise TypeError(f"{type(self).__name__} takes a Searcher, not {searcher!r}.")
        self.searcher = searcher

    @property
    def metric(self) -> Any:
        return self.searcher.metric

    @property
    def mode(self) -> Any:
        return self.searcher.mode

    def set_search_properties(self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any) -> bool:
        return self.searcher.set_search_properties(metric, mode, config, **spec)

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        self.searcher.on_trial_result(trial_id, result)

    def add_evaluated_point(self, *args: Any, **options: Any) -> None:
        self.searcher.add_evaluated_point(*args, **options)

    def save(self, checkpoint_path: str) -> None:
        self.searcher.save(checkpoint_path)

    def restore(self, checkpoint_path: str) -> None:
        self.searcher.restore(checkpoint_path)

    def get_state(self) -> dict[str, Any]:
        """Its own state, without the searcher's."""
        return copy.deepcopy({name: value for name, value in vars(self).items() if name != "searcher"})

    def set_state(self, state: dict[str, Any]) -> None:
        vars(self).update(copy.deepcopy(state))


class ConcurrencyLimiter(Wrapped):
    """Limits a search to `max_concurrent` trials at one time, as TuneConfig(max_concurrent_trials=...) does.

    batch  wait until all of these have ended before suggesting the next ones

    >>> from nbaccel.tune.search.optuna import OptunaSearch
    >>> two_at_a_time = ConcurrencyLimiter(OptunaSearch(seed=1), max_concurrent=2)
    """

    def __init__(self, searcher: Any, max_concurrent: int, batch: bool = False) -> None:
        if not isinstance(max_concurrent, int) or isinstance(max_concurrent, bool) or max_concurrent < 1:
            raise ValueError(f"ConcurrencyLimiter(max_concurrent={max_concurrent!r}) must be an int from 1.")
        if isinstance(searcher, ConcurrencyLimiter):
            raise ValueError("ConcurrencyLimiter takes a search that is not limited yet.")
        self.searcher = searcher
        self.max_concurrent, self.batch = max_concurrent, batch
        self.live_trials: set[str] = set()
        self._suggested = 0  # of a batch

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        count = self._suggested if self.batch else len(self.live_trials)
        if count >= self.max_concurrent:
            return None
        found = self.searcher.suggest(trial_id)
        if found not in (None, Searcher.FINISHED):
            self.live_trials.add(trial_id)
            self._suggested += 1
        return found

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        self.live_trials.discard(trial_id)
        if not self.live_trials:
            self._suggested = 0
        self.searcher.on_trial_complete(trial_id, result=result, error=error)


class Repeater(Wrapped):
    """Runs each suggested config `repeat` times; the searcher learns the mean of the metric.

    set_index  config["__trial_index__"] of a trial is the number of the repetition, from 0
    """

    def __init__(self, searcher: Searcher, repeat: int = 1, set_index: bool = True) -> None:
        super().__init__(searcher)
        self.repeat, self._sets_index = repeat, set_index
        self._group: list[str] = []
        self._config: dict[str, Any] = {}
        self._groups: dict[str, list[str]] = {}  # of each trial; the first one stands for all
        self._values: dict[str, list[float]] = {}
        self._left: dict[str, int] = {}

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        if not self._group or len(self._group) == self.repeat:
            found = self.searcher.suggest(trial_id)
            if not isinstance(found, dict):
                return found
            self._group, self._config = [], found
            self._left[trial_id], self._values[trial_id] = self.repeat, []
        self._group.append(trial_id)
        self._groups[trial_id] = self._group
        index = {TRIAL_INDEX: len(self._group) - 1} if self._sets_index else {}
        return {**self._config, **index}

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """Do nothing: the mean is learned at the end."""

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        first = self._groups.pop(trial_id)[0]
        self._left[first] -= 1
        value = (result or {}).get(self.metric)
        if value is not None:
            self._values[first].append(float(value))
        if self._left[first]:
            return
        values = self._values.pop(first)
        del self._left[first]
        mean = {self.metric: sum(values) / len(values)} if values else None
        self.searcher.on_trial_complete(first, result=mean, error=not values)


__all__ = ["BasicVariantGenerator", "ConcurrencyLimiter", "Repeater", "Searcher", "create_searcher"]

_OPTUNA = (
    "nbaccel searches by Optuna: nbaccel.tune.search.optuna.OptunaSearch(sampler=optuna.samplers.GPSampler()), and "
    "TPE, CMA-ES, NSGA-II, QMC and more; OptunaHub has others."
)
_OTHERS = (
    "AxSearch",
    "BayesOptSearch",
    "HEBOSearch",
    "HyperOptSearch",
    "NevergradSearch",
    "TuneBOHB",
    "ZOOptSearch",
)
REFUSED = dict.fromkeys(_OTHERS, _OPTUNA) | {
    "SearchGenerator": "give your Searcher to TuneConfig(search_alg=...) as it is; trials are made from it.",
}


def known_arguments(function: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Those of the given arguments that the function or class has."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in given.items() if name in names}


def create_searcher(search_alg: str, **kwargs: Any) -> Any:
    """The search of this name, "random" or "optuna", with the options that it knows, as in Ray; others are ignored.

    Raises ValueError for another name.
    """
    name = search_alg.lower()
    if name in ("random", "variant_generator"):
        return BasicVariantGenerator(**known_arguments(BasicVariantGenerator, kwargs))
    if name == "optuna":
        from nbaccel.tune.search.optuna import OptunaSearch

        return OptunaSearch(**known_arguments(OptunaSearch, kwargs))
    if any(name == known.lower().removesuffix("search") for known in _OTHERS) or name == "bohb":
        raise ValueError(f"The search {search_alg!r} is not here: {_OPTUNA}")
    raise ValueError(f"There is no search {search_alg!r}; there are: optuna, random.")


def __getattr__(name: str) -> Any:
    if name in REFUSED:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, REFUSED[name]))
    raise elsewhere.no_attribute(__name__, name)
