"""BasicVariantGenerator: grids and random values, the search that is used unless another one is given."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nbaccel.tune.search import variant_generator
from nbaccel.tune.search.sample import Categorical, Domain, generator
from nbaccel.tune.search.variant_generator import Space


class BasicVariantGenerator:
    """Every combination of the grids, `num_samples` times, with random values for the other parameters.

    points_to_evaluate    configs to begin with; parameters that they leave out are drawn. They count as samples
    max_concurrent        the most trials at one time; 0: as many as fit
    constant_grid_search  keep the random values of a sample for its whole grid
    random_state          a seed or a generator; the same seed gives the same configs

    >>> config = tune.TuneConfig(num_samples=20, search_alg=BasicVariantGenerator(random_state=1))
    """

    def __init__(
        self,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        max_concurrent: int = 0,
        constant_grid_search: bool = False,
        random_state: Any = None,
    ) -> None:
        self.points_to_evaluate = list(points_to_evaluate or [])
        self.max_concurrent = max_concurrent
        self.constant_grid_search = constant_grid_search
        self.random_state = random_state

    def seed(self) -> int:
        """A number from which all configs follow; the experiment's journal keeps it."""
        if isinstance(self.random_state, int):
            return self.random_state
        return generator(self.random_state).getrandbits(48)

    def configs(self, space: Mapping[str, Any], num_samples: int, seed: int) -> Iterator[Space]:
        """The configs in order; without end if `num_samples` is -1. The same seed gives the same configs."""
        variant_generator.check(space)
        rng = random.Random(seed)
        for point in self.points_to_evaluate:
            yield from variant_generator.variants(with_point(space, point), rng)
        number = len(self.points_to_evaluate)
        while num_samples < 0 or number < num_samples:
            yield from variant_generator.variants(space, rng, constant_grid_search=self.constant_grid_search)
            number += 1

    def count(self, space: Mapping[str, Any], num_samples: int) -> int | None:
        """The number of configs; None if there is no end, or if drawn values hold grids again."""
        if num_samples < 0 or has_nested_grids(space):
            return None
        points = sum(variant_generator.grid_size(with_point(space, point)) for point in self.points_to_evaluate)
        return points + max(0, num_samples - len(self.points_to_evaluate)) * variant_generator.grid_size(space)


def with_point(space: Mapping[str, Any], point: Mapping[str, Any], *, is_strict: bool = False) -> Space:
    """The space with the values of a point in it. Raises ValueError for a parameter that the space does not have.

    A value may be one that its domain never gives, as in Ray, unless `is_strict`.
    """
    chosen: Space = variant_generator.copied(space)
    for path, value in _values(space, point):
        try:
            domain = variant_generator.at(space, path)
        except (KeyError, IndexError, TypeError):
            raise ValueError(
                f"points_to_evaluate has a parameter {variant_generator.named(path)}, which param_space does not have."
            ) from None
        if is_strict and isinstance(domain, Domain) and not domain.is_valid(value):
            raise ValueError(
                f"points_to_evaluate has {variant_generator.named(path)}={value!r}, which is outside of {domain!r}."
            )
        variant_generator.assign(chosen, path, value)
    return chosen


def _values(space: Any, point: Any, path: variant_generator.Path = ()) -> Iterator[tuple[variant_generator.Path, Any]]:
    """The values of a point with their paths: where the space has a domain, a list or a dict is one value."""
    if isinstance(point, Mapping) and not isinstance(space, Domain):
        for key, inner in point.items():
            below = space.get(key) if isinstance(space, Mapping) else None
            yield from _values(below, inner, (*path, key))
    elif isinstance(space, Domain):
        yield path, point
    else:
        for inner_path, value in variant_generator.leaves(point):
            yield (*path, *inner_path), value


def has_nested_grids(space: Mapping[str, Any]) -> bool:
    """Whether a value of a choice is a grid."""
    return any(
        variant_generator.is_grid(value) or has_nested_grids({"value": value})
        for _, domain in variant_generator.leaves(space)
        if isinstance(domain, Categorical)
        for _, value in variant_generator.leaves(domain.categories)
    )
