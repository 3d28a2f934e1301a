"""Searches choose the configs of trials: grids and random values."""

from __future__ import annotations

from typing import Any

from nbaccel import elsewhere
from nbaccel.tune.search.basic_variant import BasicVariantGenerator

__all__ = ["BasicVariantGenerator"]

_RANDOM = "nbaccel.tune searches grids and random values; schedulers such as ASHAScheduler end weak trials early."
_OTHERS = (
    "AxSearch",
    "BayesOptSearch",
    "HEBOSearch",
    "HyperOptSearch",
    "NevergradSearch",
    "TuneBOHB",
    "ZOOptSearch",
)
REFUSED = dict.fromkeys(_OTHERS, _RANDOM) | {
    "Repeater": "let the trainable run several seeds and report their mean.",
}


def __getattr__(name: str) -> Any:
    if name in REFUSED:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, REFUSED[name]))
    raise elsewhere.no_attribute(__name__, name)
