"""What makes configs of a search space, under the path at which programs import it from Ray Tune."""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nbaccel.tune.search import sample
from nbaccel.tune.search.sample import Categorical, Domain, Function, generator, grid_search
from nbaccel.tune.trial import tag_of

__all__ = ["RecursiveDependencyError", "format_vars", "generate_variants", "grid_search"]


def generate_variants(
    unresolved_spec: Mapping[str, Any], constant_grid_search: bool = False, random_state: Any = None
) -> Iterator[tuple[dict[tuple[Any, ...], Any], dict[str, Any]]]:
    """The configs of one sample, each with its drawn values by path."""
    paths = [path for path, value in leaves(unresolved_spec) if has_no_value(value)]
    rng = generator(random_state)
    for config in variants(unresolved_spec, rng, constant_grid_search=constant_grid_search):
        yield {path: at(config, path) for path in paths}, config


def format_vars(resolved_vars: Mapping[tuple[Any, ...], Any]) -> str:
    """ "lr=0.1000,layers=2" of drawn values by path."""
    tag = tag_of(0, {named(path): value for path, value in resolved_vars.items()})
    return tag.partition("_")[2]


# ---- makes configs from a space: every combination of its grids, with a drawn value for each other domain
#
# A space is a dict of values, domains and grids, also inside of dicts, lists and tuples. A value that is drawn may
# hold domains again, as in choice([{"momentum": uniform(0, 1)}, {}]).


Space = dict[str, Any]
Path = tuple[Any, ...]
_DEEPEST = 20  # how often a drawn value may hold domains again

_FUNCTIONS = tuple(value for value in vars(sample).values() if callable(value) and hasattr(value, "__code__"))


class RecursiveDependencyError(Exception):
    """A `sample_from` function reads a parameter that has no value yet."""


def variants(space: Mapping[str, Any], rng: random.Random, *, constant_grid_search: bool = False) -> Iterator[Space]:
    """The configs of one sample: one for each combination of the grids. The first grid changes fastest, as in Ray.

    constant_grid_search  draw the other values once and keep them for the whole grid
    """
    grids = sorted(_grids(space), key=lambda found: [str(part) for part in found[0]])
    base = copied(space)
    if constant_grid_search:
        _draw(base, rng, skip_functions=bool(grids))
    for combination in _combinations([values for _, values in grids]):
        config = copied(base)
        for (path, _), value in zip(grids, combination, strict=True):
            assign(config, path, copied(value))
        for _ in range(_DEEPEST):
            if _draw(config, rng) == 0:
                break
        inner = _grids(config)
        yield from variants(config, rng) if inner else [config]


def grid_size(space: Mapping[str, Any]) -> int:
    """The number of combinations of the grids; 1 without a grid."""
    size = 1
    for _, values in _grids(space):
        size *= len(values)
    return size


def _combinations(grids: list[Any]) -> Iterator[list[Any]]:
    indices = [0] * len(grids)
    while True:
        yield [values[index] for values, index in zip(grids, indices, strict=True)]
        for place, values in enumerate(grids):
            indices[place] += 1
            if indices[place] < len(values):
                break
            indices[place] = 0
        else:
            return


def _grids(value: Any) -> list[tuple[Path, Any]]:
    return [(path, values_of(found)) for path, found in leaves(value) if is_grid(found)]


def is_grid(value: Any) -> bool:
    """Whether this is what `grid_search` returns, or a choice with the sampler of a grid."""
    if isinstance(value, Domain):
        return value.is_grid()
    return isinstance(value, dict) and len(value) == 1 and "grid_search" in value


def values_of(grid: Any) -> Any:
    """The values of a grid."""
    return grid.categories if isinstance(grid, Categorical) else grid["grid_search"]


def drawn_names(space: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the parameters that have no fixed value."""
    return tuple(named(path) for path, value in leaves(space) if has_no_value(value))


def has_no_value(value: Any) -> bool:
    """Whether this is a domain or a grid."""
    return isinstance(value, Domain) or is_grid(value)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All values inside of dicts, lists and tuples, with their paths. A grid is one value."""
    if isinstance(value, Mapping) and not is_grid(value):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif type(value) in (list, tuple):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def copied(value: Any) -> Any:
    """The same dicts, lists and tuples anew; the values in them are the same objects. A grid is one value."""
    if type(value) in (list, tuple):
        return type(value)(copied(inner) for inner in value)
    if isinstance(value, Mapping) and not is_grid(value):
        return {key: copied(inner) for key, inner in value.items()}
    return value


def assign(config: Any, path: Path, value: Any) -> None:
    """Set the value at a path; a tuple on the way is made anew."""
    holder = at(config, path[:-1])
    if isinstance(holder, tuple):
        assign(config, path[:-1], (*holder[: path[-1]], value, *holder[path[-1] + 1 :]))
    else:
        holder[path[-1]] = value


def at(config: Any, path: Path) -> Any:
    """The value at a path."""
    for part in path:
        config = config[part]
    return config


def _draw(config: Space, rng: random.Random, *, skip_functions: bool = False) -> int:
    """Replace domains by drawn values; functions last, in the order in which they can be evaluated."""
    waiting = [(path, domain) for path, domain in leaves(config) if isinstance(domain, Domain) and not domain.is_grid()]
    drawn = 0
    for path, domain in waiting:
        if not isinstance(domain, Function):
            assign(config, path, copied(domain.draw(rng)))
            drawn += 1
    functions = [] if skip_functions else [(path, domain) for path, domain in waiting if isinstance(domain, Function)]
    while functions:
        later: list[tuple[Path, Function]] = []
        reasons = []
        for path, function in functions:
            try:
                value = function.draw(rng, _Guard(config))
            except RecursiveDependencyError as error:
                later.append((path, function))
                reasons.append(error)
            except Exception as error:  # of the user's function
                error.add_note(f"The function of sample_from for the parameter {named(path)} raised this.")
                raise
            else:
                assign(config, path, copied(value))
                drawn += 1
        if len(later) == len(functions):
            raise ValueError(f"The parameter {named(later[0][0])} cannot be drawn: {reasons[0]}.")
        functions = later
    return drawn


class _Guard(dict[str, Any]):
    """A config as a `sample_from` function sees it: by key and by attribute, also as spec.config (Ray's old way)."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if isinstance(value, Domain) or is_grid(value):
            raise RecursiveDependencyError(f"it needs {name}, which has no value yet")
        return _Guard(value) if isinstance(value, dict) else value

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self.keys() else default

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        if name == "config":
            return self
        raise AttributeError(f"The config has no {name}.")


def named(path: Path) -> str:
    """The name of a parameter: "model/layers"."""
    return "/".join(str(part) for part in path)


def check(space: Any) -> None:
    """Refuse what looks like a mistake in a space. Raises ValueError with the parameter's name."""
    if not isinstance(space, Mapping):
        raise ValueError(f"param_space must be a dict of parameters, not {type(space).__name__}.")
    try:
        _check_dict(space, ())
        for path, value in leaves(space):
            _check_value(named(path), value)
    except RecursionError:
        raise ValueError(
            "A dict or list in param_space holds itself, or is nested too deeply: make it flatter."
        ) from None


def _check_dict(value: Any, path: Path) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ValueError(f"The names of parameters are texts, not {key!r} (in {named(path) or 'param_space'}).")
            _check_dict(inner, (*path, key))
        keys = list(value)
        if path and len(keys) == 1 and keys[0] != "grid_search" and _resembles_grid(keys[0]):
            raise ValueError(f"The parameter {named(path)} has {keys[0]!r}: did you mean 'grid_search'?")


def _resembles_grid(key: str) -> bool:
    return bool(difflib.get_close_matches(key, ["grid_search", "gridsearch"], cutoff=0.8))


def _check_value(name: str, value: Any) -> None:
    if is_grid(value):
        values = values_of(value)
        if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__") or not len(values):
            raise ValueError(f"The parameter {name}: grid_search takes a list with values, not {values!r}.")
    elif callable(value) and value in _FUNCTIONS:
        raise ValueError(
            f"The parameter {name} is the function {value.__name__} itself: call it, tune.{value.__name__}(...)."
        )
    elif type(value).__module__.startswith("ray.tune"):
        raise ValueError(
            f"The parameter {name} is a {type(value).__name__} of Ray Tune: make it with nbaccel.tune's function."
        )
    elif type(value).__module__.startswith("optuna"):
        raise ValueError(
            f"The parameter {name} is a {type(value).__name__} of Optuna: write tune.uniform(...), tune.randint(...) "
            "or tune.choice(...), or give it to OptunaSearch(space=...)."
        )


# ---- the search by grids and random values


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
        """The seed of all configs; it is stored with the experiment."""
        if isinstance(self.random_state, int):
            return self.random_state
        return generator(self.random_state).getrandbits(48)

    def configs(self, space: Mapping[str, Any], num_samples: int, seed: int) -> Iterator[Space]:
        """The configs in order, endless if `num_samples` is -1. The same seed gives the same configs."""
        check(space)
        rng = random.Random(seed)
        for point in self.points_to_evaluate:
            yield from variants(with_point(space, point), rng)
        number = len(self.points_to_evaluate)
        while num_samples < 0 or number < num_samples:
            yield from variants(space, rng, constant_grid_search=self.constant_grid_search)
            number += 1

    def count(self, space: Mapping[str, Any], num_samples: int) -> int | None:
        """The number of configs; None if endless, or unknown because drawn values contain grids."""
        if num_samples < 0 or has_nested_grids(space):
            return None
        points = sum(grid_size(with_point(space, point)) for point in self.points_to_evaluate)
        return points + max(0, num_samples - len(self.points_to_evaluate)) * grid_size(space)


def with_point(space: Mapping[str, Any], point: Mapping[str, Any], *, is_strict: bool = False) -> Space:
    """The space with the values of a point in it. Raises ValueError for a parameter that the space does not have.

    A value may be one that its domain never gives, as in Ray, unless `is_strict`.
    """
    chosen: Space = copied(space)
    for path, value in _values(space, point):
        try:
            domain = at(space, path)
        except (KeyError, IndexError, TypeError):
            raise ValueError(
                f"points_to_evaluate has a parameter {named(path)}, which param_space does not have."
            ) from None
        if is_strict and isinstance(domain, Domain) and not domain.is_valid(value):
            raise ValueError(f"points_to_evaluate has {named(path)}={value!r}, which is outside of {domain!r}.")
        assign(chosen, path, value)
    return chosen


def _values(space: Any, point: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The values of a point with their paths: where the space has a domain, a list or a dict is one value."""
    if isinstance(point, Mapping) and not isinstance(space, Domain):
        for key, inner in point.items():
            below = space.get(key) if isinstance(space, Mapping) else None
            yield from _values(below, inner, (*path, key))
    elif isinstance(space, Domain):
        yield path, point
    else:
        for inner_path, value in leaves(point):
            yield (*path, *inner_path), value


def has_nested_grids(space: Mapping[str, Any]) -> bool:
    """Whether a value of a choice is a grid."""
    return any(
        is_grid(value) or has_nested_grids({"value": value})
        for _, domain in leaves(space)
        if isinstance(domain, Categorical)
        for _, value in leaves(domain.categories)
    )
