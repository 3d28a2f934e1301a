"""Ray's path for what may still change: `tqdm_ray`, progress bars of tasks, and where objects lie."""

import importlib
from typing import Any

from nbaccel import elsewhere

_HOMES = {"get_object_locations": "locations", "get_local_object_locations": "locations"}
_ROOMS = ("locations", "state", "tqdm_ray")

__all__ = [*_HOMES, *_ROOMS]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    raise elsewhere.no_attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
