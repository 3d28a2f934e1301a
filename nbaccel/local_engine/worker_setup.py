"""Making a worker look like its driver: import path, working directory, variables, the runtime environment."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import cloudpickle

from nbaccel import exceptions
from nbaccel.local_engine import wire


def apply_setup(setup: wire.Setup) -> None:
    """What holds for every task of the job."""
    os.environ.update(setup.env_vars)
    known = set(sys.path)
    sys.path[:] = [
        *setup.sys_path,
        *(entry for entry in sys.path if entry not in setup.sys_path and entry not in known - set(sys.path)),
    ]
    try:
        os.chdir(setup.cwd)
    except OSError:
        pass  # the driver's directory is gone or not ours: stay where the head is


def apply_runtime_env(environment: dict[str, Any]) -> None:
    """A task's or actor's own environment. Raises RuntimeEnvSetupError."""
    os.environ.update(environment.get("env_vars") or {})
    working_dir = environment.get("working_dir")
    if working_dir:
        try:
            os.chdir(working_dir)
        except OSError as error:
            raise exceptions.RuntimeEnvSetupError(
                f"runtime_env working_dir {working_dir!r} cannot be entered: {error}"
            ) from error
        _prepend(working_dir)
    for module in environment.get("py_modules") or []:
        _add_module(module)
    hook = environment.get("worker_process_setup_hook")
    if hook:
        _call_hook(hook)


def _add_module(path: str) -> None:
    if not os.path.exists(path):
        raise exceptions.RuntimeEnvSetupError(f"runtime_env py_modules names {path!r}, which does not exist.")
    is_package = os.path.exists(os.path.join(path, "__init__.py"))
    _prepend(os.path.dirname(os.path.abspath(path)) if is_package or path.endswith(".py") else path)


def _prepend(directory: str) -> None:
    if directory not in sys.path:
        sys.path.insert(0, directory)
        importlib.invalidate_caches()


_hooks_called: set[str] = set()


def _call_hook(hook: Any) -> None:
    """Once for each process."""
    name = str(hook)
    if name in _hooks_called:
        return
    _hooks_called.add(name)
    try:
        if isinstance(hook, dict):
            cloudpickle.loads(bytes.fromhex(hook["pickled"]))()
        else:
            module, _dot, function = hook.rpartition(".")
            getattr(importlib.import_module(module), function)()
    except Exception as error:  # whatever the user's hook raises
        raise exceptions.RuntimeEnvSetupError(
            f"worker_process_setup_hook failed: {type(error).__name__}: {error}"
        ) from error
