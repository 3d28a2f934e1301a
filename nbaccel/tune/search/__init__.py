"""Searches choose the configs of trials: grids and random values here, everything that learns in `search.optuna`."""

from __future__ import annotations

from typing import Any

from nbaccel import elsewhere
from nbaccel.tune.search.basic_variant import BasicVariantGenerator

__all__ = ["BasicVariantGenerator"]

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


def __getattr__(name: str) -> Any:
    if name in REFUSED:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, REFUSED[name]))
    raise elsewhere.no_attribute(__name__, name)
