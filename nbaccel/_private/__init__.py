"""Names that are private to Ray and that programs of others import all the same; docs/private-names.md lists them.

They say here what they say in Ray, in terms of the public API. Nothing of nbaccel's own imports this room.
"""

import importlib
from typing import Any

_ROOMS = ("ray_constants", "runtime_env", "services", "state", "utils", "worker")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"nbaccel has no _private.{name}: of what is private to Ray it has {', '.join(_ROOMS)}, "
        f"as far as other packages use them. On a Ray cluster you have both: nbaccel.init(engine='ray'), then "
        f"`import ray` beside nbaccel and ray._private.{name}."
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
