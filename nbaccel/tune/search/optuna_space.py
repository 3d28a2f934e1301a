"""Translates a search space to Optuna's distributions, and what Optuna chose to a config.

```
  uniform, quniform, loguniform     FloatDistribution        randint, qrandint, lograndint   IntDistribution
  choice of plain values            CategoricalDistribution  choice of others                … of labels "0: relu"
  sample_from, randn, and steps on a logarithmic scale       stay random; Optuna does not know them
```
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from nbaccel.tune.search import variants
from nbaccel.tune.search.basic_variant import has_nested_grids, with_point
from nbaccel.tune.search.optuna import imported
from nbaccel.tune.search.sample import Categorical, Domain, Float, Integer
from nbaccel.tune.search.variants import Path

_LABEL = 80  # characters of a label


class StudySpace:
    """A space of domains and distributions, as Optuna sees it.

    distributions  Optuna's distributions, by the names of parameters
    stays_random   the names of the parameters that Optuna has no distribution for
    """

    def __init__(self, space: Mapping[str, Any], points: Sequence[Mapping[str, Any]] = ()) -> None:
        self._optuna = imported()
        own = {path: value for path, value in variants.leaves(space) if self._is_distribution(value)}
        plain = variants.copied(space)
        for path in own:
            variants.assign(plain, path, None)
        variants.check(plain)
        self._refuse_grids(plain)
        self._space = space
        self._points = [with_point(space, point, is_strict=True) for point in points]
        self._paths: dict[str, Path] = {}
        self._labels: dict[str, dict[str, Any]] = {}
        self.distributions: dict[str, Any] = {}
        self.stays_random: list[str] = []
        for path, value in variants.leaves(space):
            if path in own or isinstance(value, Domain):
                self._add(path, value)

    def _is_distribution(self, value: Any) -> bool:
        return isinstance(value, self._optuna.distributions.BaseDistribution)

    def _refuse_grids(self, space: Mapping[str, Any]) -> None:
        for path, value in variants.leaves(space):
            if variants.is_grid(value):
                raise ValueError(
                    f"The parameter {variants.named(path)} is a grid_search, but OptunaSearch chooses the values "
                    "itself: write tune.choice([...])."
                )
        if has_nested_grids(space):
            raise ValueError("A choice holds a grid_search, but OptunaSearch chooses the values: use tune.choice.")

    def _add(self, path: Path, value: Any) -> None:
        name = variants.named(path)
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
        if isinstance(domain, Float) and not (domain.log and domain.q):
            return kinds.FloatDistribution(domain.lower, domain.upper, log=domain.log, step=domain.q)
        if isinstance(domain, Integer):
            step = int(domain.q or 1)
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
                value = variants.at(point, path)
            except (KeyError, IndexError, TypeError):
                continue
            labels = self._labels.get(name)
            found[name] = next(label for label, each in labels.items() if each == value) if labels else value
        return found

    def config(self, number: int, params: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """The config of a trial: what Optuna chose, and what stays random. The same arguments give the same config."""
        config = variants.copied(self._points[number] if number < len(self._points) else self._space)
        for name, path in self._paths.items():
            labels = self._labels.get(name)
            value = labels[params[name]] if labels else params[name]
            variants.assign(config, path, variants.copied(value))
        return next(variants.variants(config, random.Random(seed * 1_000_003 + number)))


def _label(index: int, value: Any) -> str:
    said = getattr(value, "__name__", None) or repr(value)
    return f"{index}: {said}"[:_LABEL]


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
