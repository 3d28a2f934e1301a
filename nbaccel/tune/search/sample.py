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

import inspect
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbaccel.tune.plain_numbers import plain_number

_LISTED = 6  # values that a repr shows


class Domain:
    """A set of values with a rule by which one is drawn."""

    def sample(self, config: Any = None, size: int = 1, random_state: Any = None) -> Any:
        """Draw one value, or `size` values: a list, or as in Ray an array of numbers without a step.

        `random_state`: a seed or a generator; None draws a new one.
        """
        rng = generator(random_state)
        drawn = [self.draw(rng, config) for _ in range(size)]
        return drawn[0] if size == 1 else self.several(drawn)

    def several(self, drawn: list[Any]) -> Any:
        """The values as `sample` returns them."""
        return drawn

    def is_grid(self) -> bool:
        return False

    def is_function(self) -> bool:
        return False

    def cast(self, value: Any) -> Any:
        """A value in the type of the domain."""
        return value

    def draw(self, rng: random.Random, config: Any = None) -> Any:
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


class Numeric(Domain):
    """Numbers between two bounds; `q`, if given, is the step between them."""

    def __init__(self, name: str, lower: float, upper: float, q: float | None, *, log: bool) -> None:
        lower, upper, q = map(plain_number, (lower, upper, q))
        self.name, self.lower, self.upper, self.q, self.log = name, lower, upper, q, log
        for bound in (lower, upper):
            if isinstance(bound, bool) or not isinstance(bound, (int, float)) or math.isnan(bound):
                raise ValueError(f"{self!r}: a bound must be a number, not {bound!r}.")
        if lower > upper:
            raise ValueError(f"{self!r}: the lower bound is larger than the upper bound.")
        if log and not 0 < lower <= upper < math.inf:
            raise ValueError(
                f"{self!r}: the bounds of a logarithmic scale are larger than 0. Give the values themselves "
                "(1e-4), not their logarithms (-4)."
            )
        if q is not None and not q > 0:
            raise ValueError(f"{self!r}: the step q must be larger than 0.")

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
    """Real numbers; made by `uniform` and its siblings."""

    def __init__(self, name: str, lower: float, upper: float, q: float | None = None, *, log: bool = False) -> None:
        super().__init__(name, lower, upper, q, log=log)
        if not (math.isfinite(lower) and math.isfinite(upper)):
            raise ValueError(f"{self!r}: both bounds must be finite; randn() has none.")
        for bound in (lower, upper) if q is not None else ():
            if not math.isclose(bound / q, round(bound / q)):  # type: ignore[operator]
                raise ValueError(f"{self!r}: the bound {bound} is no multiple of the step {q}.")

    def cast(self, value: Any) -> float:
        return float(value)

    def draw(self, rng: random.Random, config: Any = None) -> float:
        found = _between(rng, self.lower, self.upper, log=self.log)
        return found if self.q is None else float(min(max(_stepped(found, self.q), self.lower), self.upper))


class Normal(Domain):
    """Normally distributed real numbers; made by `randn` and `qrandn`."""

    def __init__(self, mean: float, sd: float, q: float | None = None) -> None:
        self.mean, self.sd, self.q = map(plain_number, (mean, sd, q))
        if not sd > 0:
            raise ValueError(f"{self!r}: the standard deviation must be larger than 0.")
        if q is not None and not q > 0:
            raise ValueError(f"{self!r}: the step q must be larger than 0.")

    def draw(self, rng: random.Random, config: Any = None) -> float:
        found = rng.gauss(self.mean, self.sd)
        return found if self.q is None else float(_stepped(found, self.q))

    def is_valid(self, value: Any) -> bool:
        return isinstance(value, (int, float))

    @property
    def domain_str(self) -> str:
        return "(-inf, inf)"

    def several(self, drawn: list[Any]) -> Any:
        return drawn if self.q is not None else _array(drawn)

    def cast(self, value: Any) -> float:
        return float(value)

    def __repr__(self) -> str:
        return f"randn({self.mean}, {self.sd})" if self.q is None else f"qrandn({self.mean}, {self.sd}, {self.q})"


class Integer(Numeric):
    """Whole numbers; made by `randint` and its siblings. With a step other than 1 the upper bound belongs to them."""

    def __init__(self, name: str, lower: int, upper: int, q: int | None = None, *, log: bool = False) -> None:
        super().__init__(name, lower, upper, q, log=log)
        for number in (lower, upper, q):
            if number is not None and number != int(number):
                raise ValueError(f"{self!r}: {number!r} is no whole number.")
        step = int(self.q or 1)
        self.first, last = -(-int(self.lower) // step), int(self.upper) // step
        self.last = last if step != 1 else last - 1  # in steps, both included
        if self.last < self.first:
            raise ValueError(f"{self!r} contains no number{'' if step != 1 else ': the upper bound is excluded'}.")

    def cast(self, value: Any) -> int:
        return int(value)

    def draw(self, rng: random.Random, config: Any = None) -> int:
        step = int(self.q or 1)
        if not self.log:
            return rng.randint(self.first, self.last) * step
        found = math.floor(_between(rng, max(self.first, 0.5), self.last + 1, log=True))
        return min(max(found, self.first), self.last) * step


class Categorical(Domain):
    """One of several values; made by `choice`."""

    def __init__(self, categories: Sequence[Any]) -> None:
        if isinstance(categories, (str, bytes, Mapping)) or not _is_listed(categories):
            raise ValueError(f"choice() takes a list of values, not {categories!r}.")
        self.categories = list(categories)
        if not self.categories:
            raise ValueError("choice([]) has no value to choose.")

    def draw(self, rng: random.Random, config: Any = None) -> Any:
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
        return f"choice([{', '.join(map(repr, self.categories[:_LISTED]))}{more}])"


class Function(Domain):
    """What a user's function returns; made by `sample_from`."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func
        self.takes_config = _takes_config(func)

    def draw(self, rng: random.Random, config: Any = None) -> Any:
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
    return Float("uniform", lower, upper)


def quniform(lower: float, upper: float, q: float) -> Float:
    """A multiple of `q`; both bounds belong to it and must be multiples of `q`.

    >>> tune.quniform(0, 1, 0.25).sample() in (0, 0.25, 0.5, 0.75, 1)
    True
    """
    return Float("quniform", lower, upper, q)


def loguniform(lower: float, upper: float, base: object = None) -> Float:
    """A real number; 1e-4 to 1e-3 is as likely as 1e-3 to 1e-2. `base` changes nothing, in Ray as well.

    >>> 1e-4 <= tune.loguniform(1e-4, 1e-1).sample() < 1e-1
    True
    """
    return Float("loguniform", lower, upper, log=True)


def qloguniform(lower: float, upper: float, q: float, base: object = None) -> Float:
    """A multiple of `q` on a logarithmic scale."""
    return Float("qloguniform", lower, upper, q, log=True)


def randn(mean: float = 0.0, sd: float = 1.0) -> Normal:
    """A normally distributed real number.

    >>> drawn = tune.randn(mean=10, sd=2).sample()
    """
    return Normal(mean, sd)


def qrandn(mean: float, sd: float, q: float) -> Normal:
    """A normally distributed multiple of `q`."""
    return Normal(mean, sd, q)


def randint(lower: int, upper: int) -> Integer:
    """A whole number from `lower` to `upper - 1`.

    >>> tune.randint(0, 3).sample() in (0, 1, 2)
    True
    """
    return Integer("randint", lower, upper)


def qrandint(lower: int, upper: int, q: int = 1) -> Integer:
    """A multiple of `q` from `lower` to `upper`, which belongs to it unless `q` is 1 (Ray's rule).

    >>> tune.qrandint(0, 6, 3).sample() in (0, 3, 6)
    True
    """
    return Integer("qrandint", lower, upper, q)


def lograndint(lower: int, upper: int, base: object = None) -> Integer:
    """A whole number from `lower` to `upper - 1` on a logarithmic scale.

    >>> 1 <= tune.lograndint(1, 1000).sample() < 1000
    True
    """
    return Integer("lograndint", lower, upper, log=True)


def qlograndint(lower: int, upper: int, q: int, base: object = None) -> Integer:
    """A multiple of `q` from `lower` to `upper` on a logarithmic scale."""
    return Integer("qlograndint", lower, upper, q, log=True)


def choice(categories: Sequence[Any]) -> Categorical:
    """One of these values.

    >>> tune.choice(["relu", "gelu"]).sample() in ("relu", "gelu")
    True
    """
    return Categorical(categories)


def sample_from(func: Callable[..., Any]) -> Function:
    """What `func(config)` returns, where `config` has the values of the other parameters; also `func()`.

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
