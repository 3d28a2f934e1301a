"""OptunaSearch: what a user says about a search by Optuna. `optuna_study` asks and tells."""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbaccel.tune.search.optuna_errors import without_password
from nbaccel.tune.search.searcher import Searcher

if TYPE_CHECKING:
    from nbaccel.tune.search.optuna_face import SuggestedTrials


class OptunaSearch(Searcher):
    """Let Optuna choose the configs, and learn from the results of trials. Arguments as in Ray Tune.

    space               a dict of domains or of Optuna's distributions, or a function of an Optuna trial that calls
                        trial.suggest_float("lr", 1e-4, 1) and may return further parameters. By default param_space
    metric, mode        if they are not those of TuneConfig; lists of the same length search for several goals
    points_to_evaluate  configs to begin with; Optuna chooses the parameters that they leave out
    sampler             any sampler of Optuna; by default TPESampler, which knows which trials are under way
    study_name          the name in `storage`; by default the experiment's
    storage             where Optuna keeps the study too: an object or a URL such as "sqlite:///study.db", which
                        optuna-dashboard reads. By default the study is in memory, and the experiment's journal fills
                        it again
    seed                of the default sampler
    evaluated_rewards   the known results of points_to_evaluate, which are then not run

    As many trials run at one time as fit: TuneConfig(max_concurrent_trials=...) sets fewer, from which Optuna learns
    more for each trial. `results.study` is the study, for optuna.visualization.

    Raises ImportError if Optuna is not installed.
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
        """The arguments, for the experiment's journal: without the password of a database."""
        names = ("space", "metric", "mode", "points_to_evaluate", "sampler", "study_name", "storage")
        given = {name: getattr(self, name) for name in (*names, "evaluated_rewards")} | {"seed": self.sampler_seed}
        given["storage"] = without_password(self.storage)
        return {name: value for name, value in given.items() if value not in (None, [])}

    def seed(self) -> int:
        """A number from which follows what Optuna does not choose; the experiment's journal keeps it."""
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
        """Begin with what a file has that `save` wrote. Give only files that you trust: pickle runs their code."""
        self.earlier = pickle.loads(Path(checkpoint_path).read_bytes())
        self._face = self.study = None

    def _suggested(self) -> SuggestedTrials:
        if self._face is None:
            from nbaccel.tune.search.optuna_face import SuggestedTrials  # it needs this module

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
