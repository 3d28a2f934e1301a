"""Tuning: many trials of one function, with different parameters, on the devices that they hold.

The names are those of Ray Tune 2.60.

```
  search ─► configs ──► trials ──► results ──► scheduler, stopper      decide: CONTINUE | STOP | EXPLOIT
```
"""

import importlib
from typing import TYPE_CHECKING, Any

from nbaccel import elsewhere

if TYPE_CHECKING:
    from nbaccel.tune.schedulers import create_scheduler
    from nbaccel.tune.search.sample import (
        choice,
        grid_search,
        lograndint,
        loguniform,
        qlograndint,
        qloguniform,
        qrandint,
        qrandn,
        quniform,
        randint,
        randn,
        sample_from,
        uniform,
    )
    from nbaccel.tune.stopper import Stopper

__all__ = [
    "Stopper",
    "choice",
    "create_scheduler",
    "grid_search",
    "lograndint",
    "loguniform",
    "qlograndint",
    "qloguniform",
    "qrandint",
    "qrandn",
    "quniform",
    "randint",
    "randn",
    "sample_from",
    "uniform",
]

_HOMES = {
    "Stopper": "stopper",
    "choice": "search.sample",
    "create_scheduler": "schedulers",
    "grid_search": "search.sample",
    "lograndint": "search.sample",
    "loguniform": "search.sample",
    "qlograndint": "search.sample",
    "qloguniform": "search.sample",
    "qrandint": "search.sample",
    "qrandn": "search.sample",
    "quniform": "search.sample",
    "randint": "search.sample",
    "randn": "search.sample",
    "sample_from": "search.sample",
    "uniform": "search.sample",
}
_ROOMS = ("schedulers", "search", "stopper")
_NO_RUNNER = "trials do not run here yet. On a Ray cluster: `import ray.tune` beside nbaccel."
_ELSEWHERE = dict.fromkeys(("Tuner", "TuneConfig", "run", "report"), _NO_RUNNER)


def __getattr__(name: str) -> Any:
    """A name is loaded when it is first used: `import nbaccel.tune` loads nothing else."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _ELSEWHERE:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, _ELSEWHERE[name]))
    raise elsewhere.no_attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
