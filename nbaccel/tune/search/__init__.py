"""Searches choose the configs of trials: grids and random values, Optuna in `search.optuna`, or one of your own."""

from __future__ import annotations

from typing import Any

from nbaccel import elsewhere
from nbaccel.tune.plain_numbers import known_arguments
from nbaccel.tune.search.searcher import ConcurrencyLimiter, Repeater, Searcher
from nbaccel.tune.search.variant_generator import BasicVariantGenerator

__all__ = ["BasicVariantGenerator", "ConcurrencyLimiter", "Repeater", "Searcher", "create_searcher"]

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
    "SearchGenerator": "give your Searcher to TuneConfig(search_alg=...) as it is; trials are made from it.",
}


def create_searcher(search_alg: str, **kwargs: Any) -> Any:
    """The search of this name, "random" or "optuna", with those of the options that it has, as in Ray.

    Raises ValueError for another name.
    """
    name = search_alg.lower()
    if name in ("random", "variant_generator"):
        return BasicVariantGenerator(**known_arguments(BasicVariantGenerator, kwargs))
    if name == "optuna":
        from nbaccel.tune.search.optuna import OptunaSearch

        return OptunaSearch(**known_arguments(OptunaSearch, kwargs))
    if any(name == known.lower().removesuffix("search") for known in _OTHERS) or name == "bohb":
        raise ValueError(f"The search {search_alg!r} is not here: {_OPTUNA}")
    raise ValueError(f"There is no search {search_alg!r}; there are: optuna, random.")


def __getattr__(name: str) -> Any:
    if name in REFUSED:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, REFUSED[name]))
    raise elsewhere.no_attribute(__name__, name)
