"""The trials of a Searcher: asks it for configs, and tells it what trials have reported and how they ended."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Mapping
from typing import Any

from nbaccel.tune import comparing
from nbaccel.tune.search import variants
from nbaccel.tune.search.searcher import Searcher
from nbaccel.tune.trial import Trial, TrialState

STATE = Searcher.CKPT_FILE_TMPL.format("nbaccel")


class SearcherSource:
    """The trials of a search of the user's own, for the thread of the experiment.

    space  what configs have beside what is suggested; domains in it are drawn at random
    """

    def __init__(
        self, searcher: Searcher, space: Mapping[str, Any], num_samples: int, seed: int, prefix: str, made: int
    ) -> None:
        self._searcher, self._space, self._num_samples, self._prefix = searcher, space, num_samples, prefix
        self._rng = random.Random(seed + made)
        self._made = made
        self._is_finished = False
        self._live: set[str] = set()
        self.folder = ""  # of the experiment, for the searcher's state

    @property
    def is_exhausted(self) -> bool:
        return self._is_finished or 0 <= self._num_samples <= self._made

    def all_at_once(self) -> list[Trial]:
        return []

    def next(self) -> Trial | None:
        """The next trial; None if there is none now."""
        if self.is_exhausted:
            return None
        name = f"{self._prefix}_{self._made:05d}"
        suggested = self._searcher.suggest(name)
        if suggested is None:
            return None
        if suggested == Searcher.FINISHED:
            self._is_finished = True
            return None
        if not isinstance(suggested, Mapping):
            raise ValueError(
                f"{type(self._searcher).__name__}.suggest() returned {suggested!r}: it returns a dict, None, or "
                "Searcher.FINISHED."
            )
        config = next(variants.variants(_merged(self._space, suggested), self._rng))
        trial = Trial(name, self._made, config, drawn=tuple(comparing.flat(dict(suggested))))
        self._made += 1
        self._live.add(name)
        return trial

    def config(self, trial: Trial) -> dict[str, Any]:
        raise ValueError(
            f"Trial {trial.id} has parameters that the journal could not store ({', '.join(trial.unknown)}), and a "
            "searcher does not suggest them again: such a trial cannot go on."
        )

    def on_result(self, trial: Trial, result: Mapping[str, Any], ends: bool) -> None:
        if not ends and trial.id in self._live:
            self._searcher.on_trial_result(trial.id, _flat(result))

    def on_end(self, trial: Trial) -> None:
        if trial.id not in self._live:
            return
        self._live.discard(trial.id)
        failed = trial.state is TrialState.ERROR
        result = None if failed or not trial.reports else _flat(trial.last_result)
        self._searcher.on_trial_complete(trial.id, result=result, error=failed)
        if self.folder and type(self._searcher).save is not Searcher.save:
            try:
                self._searcher.save(os.path.join(self.folder, STATE))
            except NotImplementedError:
                pass  # of a searcher inside

    def replay(self, trials: Iterable[Trial]) -> None:
        """Go on from the searcher's saved state, if there is one; it learns of trials that run again when they end."""
        trials = list(trials)
        self._live = {trial.id for trial in trials if not trial.has_ended}
        path = os.path.join(self.folder, STATE)
        if trials and os.path.exists(path) and type(self._searcher).restore is not Searcher.restore:
            self._searcher.restore(path)


def _flat(result: Mapping[str, Any]) -> dict[str, Any]:
    return {**result, **comparing.flat(dict(result))}


def _merged(space: Mapping[str, Any], suggested: Mapping[str, Any]) -> dict[str, Any]:
    """The space with what was suggested in it; dicts are merged."""
    found: dict[str, Any] = variants.copied(space)
    for name, value in suggested.items():
        old = found.get(name)
        if isinstance(old, Mapping) and isinstance(value, Mapping) and not variants.is_grid(old):
            found[name] = _merged(old, value)
        else:
            found[name] = variants.copied(value)
    return found
