"""The function that the user wants called in a worker before a task or an actor: Ray has such hooks of whole jobs only.

It travels in a variable of the runtime environment, and what it raises is the error of each task of the worker.
"""

from __future__ import annotations

import base64
import importlib
import os
from typing import Any

from ray import cloudpickle
from ray.exceptions import RuntimeEnvSetupError

VARIABLE = "NBACCEL_SETUP_HOOK"

wanted = VARIABLE in os.environ  # in this process
_error: list[RuntimeEnvSetupError | None] = []  # of this process's hook, once it was called


def packed(hook: Any) -> str:
    """A function, or the name of one, as the value of the variable."""
    return base64.b85encode(cloudpickle.dumps(hook)).decode()


def error() -> RuntimeEnvSetupError | None:
    """Call the hook, once for each process; what its tasks are to raise."""
    if not _error:
        _error.append(_called(os.environ[VARIABLE]))
    return _error[0]


def fail(sentence: str) -> None:
    """A hook for an environment that could not be made."""
    raise RuntimeEnvSetupError(sentence)


def _called(text: str) -> RuntimeEnvSetupError | None:
    try:
        hook = cloudpickle.loads(base64.b85decode(text))
        (_named(hook) if isinstance(hook, str) else hook)()
    except RuntimeEnvSetupError as failed:
        return failed
    except Exception as raised:  # whatever the user's function raises
        return RuntimeEnvSetupError(f"worker_process_setup_hook failed: {type(raised).__name__}: {raised}")
    return None


def _named(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function)
