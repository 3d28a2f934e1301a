"""OptunaSearch as a Searcher that somebody else asks: suggest(), on_trial_result(), on_trial_complete(), save()."""

from __future__ import annotations

from typing import Any

from nbaccel.tune.search.optuna import OptunaSearch
from nbaccel.tune.search.optuna_study import StudySource
from nbaccel.tune.trial import Trial, TrialState


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
