"""Names that are private to Ray and that programs of others import all the same; docs/private-names.md lists them.

They say here what they say in Ray, in terms of the public API. Nothing of nbaccel's own imports this room.
"""

import importlib
import os
from typing import Any

_ROOMS = ("ray_constants", "runtime_env", "services", "state", "utils", "worker")

# What Ray's job manager and its plugins of runtime environments read.
RAY_JOB_CONFIG_JSON_ENV_VAR = "RAY_JOB_CONFIG_JSON_ENV_VAR"
RAY_RUNTIME_ENV_PLUGINS_ENV_VAR = "RAY_RUNTIME_ENV_PLUGINS"
RAY_RUNTIME_ENV_PLUGIN_SCHEMAS_ENV_VAR = "RAY_RUNTIME_ENV_PLUGIN_SCHEMAS"

# Values that mean the same here, of `ray_constants`. What only Ray's own processes have (names of their logs, ports and
# files) is not here.
ID_SIZE = 28  # bytes of a UniqueID
DEFAULT_PORT = 6379  # of a Ray cluster that init(engine="ray") joins
DEFAULT_DASHBOARD_PORT = 8265  # of Ray's dashboard, which init(engine="ray", include_dashboard=True) starts
MIN_RESOURCE_GRANULARITY = 0.0001
DEFAULT_ACTOR_METHOD_NUM_RETURN_VALS = 1

RAY_ADDRESS_ENVIRONMENT_VARIABLE = "RAY_ADDRESS"
RAY_NAMESPACE_ENVIRONMENT_VARIABLE = "RAY_NAMESPACE"
RAY_RUNTIME_ENV_ENVIRONMENT_VARIABLE = "RAY_RUNTIME_ENV"

LOGGER_FORMAT = "%(asctime)s\t%(levelname)s %(filename)s:%(lineno)s -- %(message)s"
LOGGER_LEVEL = os.environ.get("RAY_LOGGER_LEVEL", "info")
LOGGER_LEVEL_CHOICES = ["debug", "info", "warning", "error", "critical"]


def format_error_message(exception_message: str, task_exception: bool = False) -> str:
    """A traceback's text; of a task's without the two lines of the frame that called the user's code."""
    lines = exception_message.split("\n")
    return "\n".join(lines[:1] + lines[3:] if task_exception else lines)


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
