"""The setup function that a user wants called in a worker before a task or an actor; Ray has this for whole jobs only.

It travels in a variable of the runtime environment, and an exception of it is the error of each task of the worker. Ray
calls a job's hook itself, and would end the worker without reporting the exception.
"""

from __future__ import annotations

import base64
import importlib
import os
from collections.abc import Callable
from typing import Any

from ray import cloudpickle
from ray.exceptions import RuntimeEnvSetupError

VARIABLE = "NBACCEL_SETUP_HOOK"
FAILED = "NBACCEL_SETUP_FAILED"  # why, where the hook of the whole job has failed

wanted = VARIABLE in os.environ or FAILED in os.environ  # in this process
_error: list[RuntimeEnvSetupError | None] = []  # of this process's hook, once it was called


def packed(hook: Any) -> str:
    """A function, or the name of one, as the value of the variable."""
    return base64.b85encode(cloudpickle.dumps(hook)).decode()


def guarded(hook: Any) -> Callable[[], None]:
    """A job's hook for Ray to call: its exception becomes the error of each task of the worker.

    It travels by value, since Ray calls it before it knows where this package lies.
    """
    variable = FAILED

    def call() -> None:
        import importlib
        import os

        try:
            if isinstance(hook, str):
                module, _, function = hook.rpartition(".")
                getattr(importlib.import_module(module), function)()
            else:
                hook()
        except Exception as raised:  # whatever the user's function raises
            os.environ[variable] = f"worker_process_setup_hook failed: {type(raised).__name__}: {raised}"

    return call


def error() -> RuntimeEnvSetupError | None:
    """Call the hook, once for each process; returns the error that the process's tasks must raise, or None."""
    if not _error and FAILED in os.environ:
        _error.append(RuntimeEnvSetupError(os.environ[FAILED]))
    if not _error:
        _error.append(_called(os.environ[VARIABLE]))
    return _error[0]


def fail(sentence: str) -> None:
    """The hook of an environment that could not be created: it raises the error."""
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
