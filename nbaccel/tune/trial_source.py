"""Makes the trials of an experiment from a search: all at once where their number is known, else one after another.

Trials that are made at once are in the journal before the first begins, so that an experiment goes on without its
search space.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbaccel.tune.search import variants
from nbaccel.tune.search.basic_variant import BasicVariantGenerator
from nbaccel.tune.trial import Trial

MOST_AT_ONCE = 10_000


class TrialSource:
    """The trials of grids and random values.

    prefix  the beginning of the ids of trials
    """

    def __init__(
        self, search: BasicVariantGenerator, space: Mapping[str, Any], num_samples: int, seed: int, prefix: str
    ) -> None:
        self._search, self._space, self._num_samples, self._seed = search, space, num_samples, seed
        self._configs = search.configs(space, num_samples, seed)
        self._prefix = prefix
        self._drawn = variants.drawn_names(space)
        self._next = 0
        self.is_exhausted = False

    def all_at_once(self) -> list[Trial]:
        """All trials, if their number is known and not large; else none, and `next` makes them."""
        count = self._search.count(self._space, self._num_samples)
        if count is None or count > MOST_AT_ONCE:
            return []
        made = []
        while (trial := self.next()) is not None:
            made.append(trial)
        return made

    def next(self) -> Trial | None:
        """The next trial; None after the last."""
        config = next(self._configs, None)
        if config is None:
            self.is_exhausted = True
            return None
        trial = Trial(f"{self._prefix}_{self._next:05d}", self._next, config, drawn=self._drawn)
        self._next += 1
        return trial

    def skip(self, number: int) -> None:
        """Pass over the trials that an earlier run made."""
        for _ in range(number):
            self.next()

    def config(self, trial: Trial) -> dict[str, Any]:
        """The config of a trial, made again."""
        for index, config in enumerate(self._search.configs(self._space, self._num_samples, self._seed)):
            if index == trial.number:
                return config
        raise ValueError(f"param_space gives fewer than {trial.number + 1} configs: it is another space than before.")


def fill_unknown(trial: Trial, again: dict[str, Any]) -> None:
    """Give a trial of a journal the values that the journal could not store. Raises ValueError for another space."""
    by_name = {variants.named(path): path for path, _ in variants.leaves(trial.config)}
    for name, text in trial.unknown.items():
        path = by_name[name]
        try:
            value = variants.at(again, path)
        except (KeyError, IndexError, TypeError):
            raise ValueError(f"param_space has no parameter {name}, which trial {trial.id} had ({text}).") from None
        variants.assign(trial.config, path, value)
    trial.unknown.clear()
