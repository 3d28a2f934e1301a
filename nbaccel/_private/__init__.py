"""Names that are private to Ray and that programs of others import all the same; docs/private-names.md lists them.

They say here what they say in Ray, in terms of the public API. Nothing of nbaccel's own imports this room.
"""

import importlib
from typing import Any

_ROOMS = ("ray_constants", "runtime_env", "services", "state", "utils", "worker")

# What Ray's job manager and its plugins of runtime environments read.
RAY_JOB_CONFIG_JSON_ENV_VAR = "RAY_JOB_CONFIG_JSON_ENV_VAR"
RAY_RUNTIME_ENV_PLUGINS_ENV_VAR = "RAY_RUNTIME_ENV_PLUGINS"
RAY_RUNTIME_ENV_PLUGIN_SCHEMAS_ENV_VAR = "RAY_RUNTIME_ENV_PLUGIN_SCHEMAS"


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"nbaccel has no _private.{name}: of Ray's private modules it has {', '.join(_ROOMS)}, "
        f"with the names that other packages use. On a Ray cluster you can use both: call nbaccel.init(engine='ray'), "
        f"then import ray beside nbaccel and use ray._private.{name}."
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
