"""What makes configs of a search space, under the path at which programs import it from Ray Tune."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nbaccel.tune.search import variants
from nbaccel.tune.search.sample import generator, grid_search
from nbaccel.tune.search.variants import RecursiveDependencyError
from nbaccel.tune.trial_names import tag_of

__all__ = ["RecursiveDependencyError", "format_vars", "generate_variants", "grid_search"]


def generate_variants(
    unresolved_spec: Mapping[str, Any], constant_grid_search: bool = False, random_state: Any = None
) -> Iterator[tuple[dict[tuple[Any, ...], Any], dict[str, Any]]]:
    """The configs of one sample, each with its drawn values by path."""
    paths = [path for path, value in variants.leaves(unresolved_spec) if variants.has_no_value(value)]
    rng = generator(random_state)
    for config in variants.variants(unresolved_spec, rng, constant_grid_search=constant_grid_search):
        yield {path: variants.at(config, path) for path in paths}, config


def format_vars(resolved_vars: Mapping[tuple[Any, ...], Any]) -> str:
    """ "lr=0.1000,layers=2" of drawn values by path."""
    tag = tag_of(0, {variants.named(path): value for path, value in resolved_vars.items()})
    return tag.partition("_")[2]
