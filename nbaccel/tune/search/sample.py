"""The values that a parameter may take: `uniform`, `choice`, `grid_search` and the rest of Ray Tune's functions.

```
  function                 values                                                    step
  uniform(lo, hi)          lo ≤ x < hi
  quniform(lo, hi, q)      lo ≤ x ≤ hi                                               multiples of q
  loguniform, qloguniform  as these, equally likely in each order of magnitude
  randn(mean, sd), qrandn  a normal distribution without bounds
  randint(lo, hi)          lo ≤ n < hi                                               1
  qrandint(lo, hi, q)      lo ≤ n ≤ hi; n < hi if q is 1, as in Ray                  multiples of q
  lograndint, qlograndint  as these, equally likely in each order of magnitude
  choice([a, b]), sample_from(f), grid_search([a, b])
```
Only the standard library's random numbers are needed. A domain's repr is the call that makes it.
"""

from __future__ import annotations

import copy
import inspect
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from nbaccel.tune.comparing import plain_number

_LISTED = 6  # values that a repr shows


# ---- how a value is drawn from a domain; a search of one's own reads it from domain.get_sampler(), as with Ray


class Sampler:
    """How values are drawn. One of your own overrides `sample`, and is given to `domain.set_sampler`."""

    def sample(self, domain: Domain, config: Any = None, size: int = 1, random_state: Any = None) -> Any:
        """One value of the domain, or `size` values."""
        return domain.with_sampler(self).sample(config, size, random_state)

    def __str__(self) -> str:
        return type(self).__name__


class BaseSampler(Sampler):
    """That of a domain which has only one way: it calls a function."""


class Uniform(Sampler):
    """All values are equally likely."""


class LogUniform(Sampler):
    """All orders of magnitude are equally likely. `base` changes nothing, in Ray as well."""

    def __init__(self, base: object = None) -> None:
        self.base = base


class Normal(Sampler):
    """A normal distribution."""

    def __init__(self, mean: float = 0.0, sd: float = 1.0) -> None:
        self.mean, self.sd = map(plain_number, (mean, sd))


class Grid(Sampler):
    """Every value in turn, as in grid_search."""


class Quantized(Sampler):
    """Another sampler, whose values are rounded to multiples of `q`."""

    def __init__(self, sampler: Sampler, q: float) -> None:
        self.sampler, self.q = sampler, plain_number(q)

    def get_sampler(self) -> Sampler:
        return self.sampler


_OURS = (BaseSampler, Uniform, LogUniform, Normal, Grid, Quantized)


# ---- domains


class Domain:
    """A set of values with a rule by which one is drawn."""

    sampler: Sampler | None = None
    default_sampler_cls: type[Sampler] = Uniform

    def set_sampler(self, sampler: Sampler, allow_override: bool = False) -> None:
        """Say how values are drawn. Raises ValueError if it is said already, unless `allow_override`."""
        if self.sampler is not None and not allow_override:
            raise ValueError(
                f"{self!r} has the sampler {self.sampler}: a domain has one, so that {sampler} is not taken as well."
            )
        self.sampler = sampler

    def get_sampler(self) -> Sampler:
        return self.sampler or self.default_sampler_cls()

    def with_sampler(self, sampler: Sampler) -> Self:
        """The same values, drawn in another way. Raises ValueError if they cannot be drawn in it."""
        other = copy.copy(self)
        other.sampler = sampler
        other.check()
        return other

    def check(self) -> None:
        """Raises ValueError for bounds that make no sense."""

    def sample(self, config: Any = None, size: int = 1, random_state: Any = None) -> Any:
        """Draw one value, or `size` values: a list, or as in Ray an array of numbers without a step.

        `random_state`: a seed or a generator; None draws a new one.
        """
        if self.is_grid():
            raise RuntimeError(f"{self!r} gives each of its values to a trial: none is drawn.")
        rng = generator(random_state)
        drawn = [self.draw(rng, config) for _ in range(size)]
        return drawn[0] if size == 1 else self.several(drawn)

    def several(self, drawn: list[Any]) -> Any:
        """The values as `sample` returns them."""
        return drawn

    def is_grid(self) -> bool:
        return isinstance(self.sampler, Grid)

    def is_function(self) -> bool:
        return False

    def cast(self, value: Any) -> Any:
        """A value in the type of the domain."""
        return value

    def draw(self, rng: random.Random, config: Any = None) -> Any:
        """One value."""
        if self.sampler is None or isinstance(self.sampler, _OURS):
            return self.drawn(rng, config)
        return self.sampler.sample(self, config, 1, _numpy_state_of(rng))

    def drawn(self, rng: random.Random, config: Any = None) -> Any:
        """One value, by one of the samplers of this module."""
        raise NotImplementedError

    def is_valid(self, value: Any) -> bool:
        """Whether the domain contains this value."""
        raise NotImplementedError

    @property
    def domain_str(self) -> str:
        """The bounds or the values, as text."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.domain_str


def _numpy_state_of(rng: random.Random) -> Any:
    """What a sampler of somebody's own draws from: numpy's RandomState; the generator itself without numpy."""
    try:
        import numpy
    except ImportError:
        return rng
    return numpy.random.RandomState(rng.getrandbits(32))


class Numeric(Domain):
    """Numbers between two bounds; a step between them is that of the sampler, `Quantized`."""

    of_uniform, of_log = "uniform", "loguniform"  # the functions that make it

    def __init__(self, lower: float | None, upper: float | None, sampler: Sampler | None = None) -> None:
        self.lower = -math.inf if lower is None else plain_number(lower)
        self.upper = math.inf if upper is None else plain_number(upper)
        self.sampler = sampler
        for bound in (self.lower, self.upper):
            if isinstance(bound, bool) or not isinstance(bound, (int, float)) or math.isnan(bound):
                raise ValueError(f"{self!r}: a bound must be a number, not {bound!r}.")
        if self.lower > self.upper:
            raise ValueError(f"{self!r}: the lower bound is larger than the upper bound.")
        self.check()

    def check(self) -> None:
        if self.q is not None and not self.q > 0:
            raise ValueError(f"{self!r}: the step q must be larger than 0.")
        if self.log and not 0 < self.lower <= self.upper < math.inf:
            raise ValueError(
                f"{self!r}: the bounds of a logarithmic scale are larger than 0. Give the values themselves "
                "(1e-4), not their logarithms (-4)."
            )

    @property
    def q(self) -> float | None:
        """The step between two values; None if there is none."""
        sampler = self.get_sampler()
        return sampler.q if isinstance(sampler, Quantized) else None

    @property
    def inner(self) -> Sampler:
        """The sampler, without its step."""
        sampler = self.get_sampler()
        while isinstance(sampler, Quantized):
            sampler = sampler.sampler
        return sampler

    @property
    def log(self) -> bool:
        return isinstance(self.inner, LogUniform)

    @property
    def name(self) -> str:
        """The function that makes it: "qloguniform"."""
        return ("" if self.q is None else "q") + (self.of_log if self.log else self.of_uniform)

    def uniform(self) -> Self:
        return self.with_sampler(Uniform())

    def loguniform(self, base: object = None) -> Self:
        return self.with_sampler(LogUniform(base))

    def quantized(self, q: float) -> Self:
        """The multiples of `q` alone."""
        return self.with_sampler(Quantized(self.get_sampler(), q))

    def is_valid(self, value: Any) -> bool:
        return isinstance(value, (int, float)) and self.lower <= value <= self.upper

    def several(self, drawn: list[Any]) -> Any:
        return drawn if self.q is not None else _array(drawn)

    @property
    def domain_str(self) -> str:
        return f"({self.lower}, {self.upper})"

    def __repr__(self) -> str:
        step = f", {self.q}" if self.q is not None else ""
        return f"{self.name}({self.lower}, {self.upper}{step})"


class Float(Numeric):
    """Real numbers; made by `uniform`, `randn` and their siblings. Without a bound: None."""

    def check(self) -> None:
        super().check()
        if isinstance(self.inner, Normal):
            if not self.inner.sd > 0:
                raise ValueError(f"{self!r}: the standard deviation must be larger than 0.")
            if math.isfinite(self.lower) or math.isfinite(self.upper):
                raise ValueError(f"{self!r}: a normal distribution has no bounds, and this domain has.")
            return
        if self.sampler is not None and not (math.isfinite(self.lower) and math.isfinite(self.upper)):
            raise ValueError(f"{self!r}: both bounds must be finite; randn() has none.")
        for bound in (self.lower, self.upper) if self.q is not None else ():
            if not math.isclose(bound / self.q, round(bound / self.q)):  # type: ignore[operator]
                raise ValueError(f"{self!r}: the bound {bound} is no multiple of the step {self.q}.")

    def normal(self, mean: float = 0.0, sd: float = 1.0) -> Self:
        return self.with_sampler(Normal(mean, sd))

    def cast(self, value: Any) -> float:
        return float(value)

    def drawn(self, rng: random.Random, config: Any = None) -> float:
        if isinstance(self.inner, Normal):
            found = rng.gauss(self.inner.mean, self.inner.sd)
        else:
            found = _between(rng, self.lower, self.upper, log=self.log)
        return found if self.q is None else float(min(max(_stepped(found, self.q), self.lower), self.upper))

    def __repr__(self) -> str:
        if not isinstance(self.inner, Normal):
            return super().__repr__()
        parts = f"{self.inner.mean}, {self.inner.sd}"
        return f"randn({parts})" if self.q is None else f"qrandn({parts}, {self.q})"


class Integer(Numeric):
    """Whole numbers; made by `randint` and its siblings. With a step other than 1 the upper bound belongs to them."""

    of_uniform, of_log = "randint", "lograndint"

    def check(self) -> None:
        super().check()
        for number in (self.lower, self.upper, self.q):
            if number is not None and (math.isinf(number) or number != int(number)):
                raise ValueError(f"{self!r}: {number!r} is no whole number.")
        if self.last < self.first:
            excluded = "" if self.step != 1 else ": the upper bound is excluded"
            raise ValueError(f"{self!r} contains no number{excluded}.")

    @property
    def step(self) -> int:
        return int(self.q or 1)

    @property
    def first(self) -> int:
        """The smallest number, in steps."""
        return -(-int(self.lower) // self.step)

    @property
    def last(self) -> int:
        """The largest number, in steps."""
        last = int(self.upper) // self.step
        return last if self.step != 1 else last - 1

    def cast(self, value: Any) -> int:
        return int(value)

    def drawn(self, rng: random.Random, config: Any = None) -> int:
        if not self.log:
            return rng.randint(self.first, self.last) * self.step
        found = math.floor(_between(rng, max(self.first, 0.5), self.last + 1, log=True))
        return min(max(found, self.first), self.last) * self.step


class Categorical(Domain):
    """One of several values; made by `choice`."""

    def __init__(self, categories: Sequence[Any]) -> None:
        if isinstance(categories, (str, bytes, Mapping)) or not _is_listed(categories):
            raise ValueError(f"choice() takes a list of values, not {categories!r}.")
        self.categories = list(categories)
        if not self.categories:
            raise ValueError("choice([]) has no value to choose.")

    def uniform(self) -> Self:
        return self.with_sampler(Uniform())

    def grid(self) -> Self:
        """Each value once, as of grid_search."""
        return self.with_sampler(Grid())

    def drawn(self, rng: random.Random, config: Any = None) -> Any:
        return self.categories[rng.randrange(len(self.categories))]

    def is_valid(self, value: Any) -> bool:
        return value in self.categories

    def __len__(self) -> int:
        return len(self.categories)

    def __getitem__(self, index: int) -> Any:
        return self.categories[index]

    @property
    def domain_str(self) -> str:
        return f"{self.categories}"

    def __repr__(self) -> str:
        more = ", …" if len(self.categories) > _LISTED else ""
        name = "grid_search" if self.is_grid() else "choice"
        return f"{name}([{', '.join(map(repr, self.categories[:_LISTED]))}{more}])"


class Function(Domain):
    """What a user's function returns; made by `sample_from`."""

    default_sampler_cls = BaseSampler

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func
        self.takes_config = _takes_config(func)

    def drawn(self, rng: random.Random, config: Any = None) -> Any:
        return self.func(config if config is not None else {}) if self.takes_config else self.func()

    def is_valid(self, value: Any) -> bool:
        return True

    def is_function(self) -> bool:
        return True

    @property
    def domain_str(self) -> str:
        return f"{getattr(self.func, '__name__', self.func)}()"

    def __repr__(self) -> str:
        return f"sample_from({getattr(self.func, '__name__', self.func)})"


def _takes_config(func: Any) -> bool:
    if not callable(func):
        raise ValueError(f"sample_from() takes a function of the config, not {func!r}.")
    try:
        signature = inspect.signature(func)
    except (TypeError, ValueError):  # written in C
        return False
    candidates: tuple[tuple[Any, ...], ...] = (({},), ())
    for arguments in candidates:
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return bool(arguments)
    raise ValueError(f"sample_from({func!r}): the function must take the config, or nothing.")


def _array(values: list[Any]) -> Any:
    """A numpy array; the list without numpy, which nothing else here needs."""
    try:
        import numpy
    except ImportError:
        return values
    return numpy.array(values)


def _is_listed(values: Any) -> bool:
    return hasattr(values, "__len__") and hasattr(values, "__getitem__")


def _between(rng: random.Random, lower: float, upper: float, *, log: bool) -> float:
    return math.exp(rng.uniform(math.log(lower), math.log(upper))) if log else rng.uniform(lower, upper)


def _stepped(value: float, step: float) -> float:
    return round(value / step) * step


def generator(state: Any) -> random.Random:
    """A generator of random numbers from a seed, from another generator (numpy's too), or from the program's own state.

    So `numpy.random.seed(1)`, as with Ray, or `random.seed(1)` before a run makes its random choices repeatable.
    """
    if isinstance(state, random.Random):
        return state
    if state is None:
        return random.Random(_of_this_program())
    if isinstance(state, int):
        return random.Random(state)
    for name in ("integers", "randint"):  # of numpy's Generator and RandomState
        if hasattr(state, name):
            return random.Random(int(getattr(state, name)(0, 2**31 - 1)))
    raise ValueError(f"random_state must be a number or a generator of random numbers, not {state!r}.")


def _of_this_program() -> int:
    """A number from numpy's own state, as in Ray; from that of `random` if the program has used only that one since."""
    global _last
    now = _states()
    is_of_python = now[1] is None or (now[0] != _last[0] and now[1] == _last[1])
    found = random.getrandbits(63) if is_of_python else sys.modules["numpy"].random.randint(0, 2**63 - 1, dtype="int64")
    _last = _states()
    return int(found)


def _states() -> tuple[int, int | None]:
    """What differs when the state of `random`, or of numpy, has changed; None where numpy is not loaded."""
    numpy_random = sys.modules.get("numpy.random")
    return hash(random.getstate()), None if numpy_random is None else _numpy_state(numpy_random)


def _numpy_state(numpy_random: Any) -> int:
    _, key, place, *_ = numpy_random.get_state()
    return hash((key.tobytes(), place))


_last = _states()


# ---- the functions that users call


def uniform(lower: float, upper: float) -> Float:
    """A real number from `lower` up to `upper`.

    >>> 0 <= tune.uniform(0, 1).sample() < 1
    True
    """
    return Float(lower, upper, Uniform())


def quniform(lower: float, upper: float, q: float) -> Float:
    """A multiple of `q` from `lower` to `upper`, which must be multiples of `q` too.

    >>> tune.quniform(0, 1, 0.25).sample() in (0, 0.25, 0.5, 0.75, 1)
    True
    """
    return Float(lower, upper, Quantized(Uniform(), q))


def loguniform(lower: float, upper: float, base: object = None) -> Float:
    """A real number from `lower` up to `upper` on a logarithmic scale. `base` changes nothing, as in Ray.

    >>> 1e-4 <= tune.loguniform(1e-4, 1e-1).sample() < 1e-1
    True
    """
    return Float(lower, upper, LogUniform(base))


def qloguniform(lower: float, upper: float, q: float, base: object = None) -> Float:
    """A multiple of `q` from `lower` to `upper`, multiples too, on a logarithmic scale."""
    return Float(lower, upper, Quantized(LogUniform(base), q))


def randn(mean: float = 0.0, sd: float = 1.0) -> Float:
    """A normally distributed real number; `sd`: standard deviation.

    >>> drawn = tune.randn(mean=10, sd=2).sample()
    """
    return Float(None, None, Normal(mean, sd))


def qrandn(mean: float, sd: float, q: float) -> Float:
    """A normally distributed multiple of `q`."""
    return Float(None, None, Quantized(Normal(mean, sd), q))


def randint(lower: int, upper: int) -> Integer:
    """A whole number from `lower` to `upper - 1`.

    >>> tune.randint(0, 3).sample() in (0, 1, 2)
    True
    """
    return Integer(lower, upper, Uniform())


def qrandint(lower: int, upper: int, q: int = 1) -> Integer:
    """A multiple of `q` from `lower` to `upper`; if `q` is 1, to `upper - 1`, as in Ray.

    >>> tune.qrandint(0, 6, 3).sample() in (0, 3, 6)
    True
    """
    return Integer(lower, upper, Quantized(Uniform(), q))


def lograndint(lower: int, upper: int, base: object = None) -> Integer:
    """A whole number from `lower` to `upper - 1` on a logarithmic scale.

    >>> 1 <= tune.lograndint(1, 1000).sample() < 1000
    True
    """
    return Integer(lower, upper, LogUniform(base))


def qlograndint(lower: int, upper: int, q: int, base: object = None) -> Integer:
    """A multiple of `q` from `lower` to `upper` on a logarithmic scale."""
    return Integer(lower, upper, Quantized(LogUniform(base), q))


def choice(categories: Sequence[Any]) -> Categorical:
    """One of these values, all equally likely.

    >>> tune.choice(["relu", "gelu"]).sample() in ("relu", "gelu")
    True
    """
    return Categorical(categories)


def sample_from(func: Callable[..., Any]) -> Function:
    """What `func(config)` returns; `config` has the other parameters. `func()` works too.

    >>> space = {"lr": tune.uniform(0, 1), "decay": tune.sample_from(lambda config: config["lr"] / 10)}
    """
    return Function(func)


def grid_search(values: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Each of these values once, with every value of the other grids; `num_samples` repeats the whole grid.

    >>> space = {"lr": tune.grid_search([0.01, 0.1]), "layers": tune.grid_search([1, 2])}     # four trials
    """
    if isinstance(values, (str, bytes, Mapping)) or not _is_listed(values):
        raise ValueError(f"grid_search() takes a list of values, not {values!r}.")
    if not len(values):
        raise ValueError("grid_search([]) has no value to try.")
    return {"grid_search": list(values)}
