"""Searches choose the configs of trials: grids and random values here, everything that learns in `search.optuna`."""

from __future__ import annotations

import copy
from typing import Any

from nbaccel import elsewhere
from nbaccel.tune.search.basic_variant import BasicVariantGenerator

__all__ = ["BasicVariantGenerator", "ConcurrencyLimiter", "create_searcher"]

_OPTUNA = (
    "nbaccel searches by Optuna: nbaccel.tune.search.optuna.OptunaSearch(sampler=optuna.samplers.GPSampler()), and "
    "TPE, CMA-ES, NSGA-II, QMC and more; OptunaHub has others."
)
_OTHERS = (
    "AxSearch",
    "BayesOptSearch",
    "HEBOSearch",
    "HyperOptSearch",
    "NevergradSearch",
    "TuneBOHB",
    "ZOOptSearch",
)
REFUSED = dict.fromkeys(_OTHERS, _OPTUNA) | {
    "Repeater": "let the trainable run several seeds and report their mean.",
}


def create_searcher(search_alg: str, **kwargs: Any) -> Any:
    """The search of this name, "random" or "optuna", with these options. Raises ValueError for another name."""
    name = search_alg.lower()
    if name in ("random", "variant_generator"):
        return BasicVariantGenerator(**kwargs)
    if name == "optuna":
        from nbaccel.tune.search.optuna import OptunaSearch

        return OptunaSearch(**kwargs)
    if any(name == known.lower().removesuffix("search") for known in _OTHERS) or name == "bohb":
        raise ValueError(f"The search {search_alg!r} is not here: {_OPTUNA}")
    raise ValueError(f"There is no search {search_alg!r}; there are: optuna, random.")


def ConcurrencyLimiter(searcher: Any, max_concurrent: int, batch: bool = False) -> Any:
    """The same search, for at most so many trials at one time; TuneConfig(max_concurrent_trials=...) does the same.

    batch  not here: it would leave devices idle until the last trial of a batch has ended
    """
    if batch:
        raise NotImplementedError(
            "ConcurrencyLimiter(batch=True) is not here, because devices would be idle until the last trial of a batch "
            "has ended: leave it out."
        )
    if not isinstance(max_concurrent, int) or max_concurrent < 1:
        raise ValueError(f"ConcurrencyLimiter(max_concurrent={max_concurrent!r}) must be an int from 1.")
    limited = copy.copy(searcher)
    limited.max_concurrent = max_concurrent
    return limited


def __getattr__(name: str) -> Any:
    if name in REFUSED:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, REFUSED[name]))
    raise elsewhere.no_attribute(__name__, name)
