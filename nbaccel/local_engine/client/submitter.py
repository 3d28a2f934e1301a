"""Who submits: the task, cell, environment and placement group that a process's tasks take over."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Protocol

import cloudpickle

from nbaccel import engine as engines
from nbaccel.freshness import blake2b
from nbaccel.handles.placement_group_handle import PlacementGroup

Environment = dict[str, Any]

# Variables that are read when the interpreter or its libraries are loaded: a forked process is too late for them.
_READ_AT_EXEC = ("LD_", "PYTHON", "MALLOC_", "GLIBC_")
_NEEDS_EXEC = ("pip", "uv", "conda", "py_executable")
_PACKAGE_TOOLS = ("pip", "uv")


def spelled_out(runtime_env: Mapping[str, Any] | None) -> Environment:
    """The environment as the user wrote it, with everything in it that another process can read.

    Raises ValueError for a requirements file that is not there, TypeError for a hook that cannot be pickled.
    """
    plain = {key: value for key, value in (runtime_env or {}).items() if value is not None}
    for tool in _PACKAGE_TOOLS:
        if tool in plain:
            from nbaccel import package_environments

            plain[tool] = package_environments.spec_of(tool, plain[tool])
    if "working_dir" in plain and "://" not in plain["working_dir"]:
        plain["working_dir"] = os.path.abspath(os.path.expanduser(plain["working_dir"]))
    if "py_modules" in plain:
        plain["py_modules"] = [_module_path(module) for module in plain["py_modules"]]
    hook = plain.get("worker_process_setup_hook")
    if callable(hook):
        plain["worker_process_setup_hook"] = {"pickled": cloudpickle.dumps(hook).hex()}
    return plain


def _module_path(module: Any) -> str:
    """A module object, or a path, as an absolute path."""
    if isinstance(module, ModuleType):
        places = list(getattr(module, "__path__", []))
        return os.path.abspath(places[0] if places else str(module.__file__))
    path = str(module)
    return path if "://" in path else os.path.abspath(os.path.expanduser(path))


def joined(outer: Environment, inner: Environment) -> Environment:
    """The environment of a task: its own fields win over those of its submitter; variables are merged."""
    if not outer or not inner:
        return inner or outer
    both = {**outer, **inner}
    if "pip" in inner or "uv" in inner or "conda" in inner:  # only one of them can make the environment
        for other in ("pip", "uv", "conda"):
            if other not in inner:
                both.pop(other, None)
    variables = {**(outer.get("env_vars") or {}), **(inner.get("env_vars") or {})}
    return {**both, "env_vars": variables} if variables else both


def encoded(environment: Environment) -> bytes:
    """JSON in which equal environments are equal bytes."""
    if not environment:
        return b"{}"
    import json

    return json.dumps(environment, sort_keys=True, default=str).encode()


def how_started(environment: Environment) -> str:
    """ "exec" if a process must be executed for it, "fork" if a forked process can adopt it."""
    variables = environment.get("env_vars") or {}
    needs_exec = any(name.startswith(_READ_AT_EXEC) for name in variables)
    return "exec" if needs_exec or any(environment.get(field) for field in _NEEDS_EXEC) else "fork"


def environment_key(body: bytes) -> str:
    """A name for equal environments; "" for none."""
    if body == b"{}":
        return ""
    return blake2b(body, digest_size=8).hexdigest()


class Submitter(Protocol):
    """The code that runs now, as far as it concerns the tasks that it submits."""

    def running_task(self) -> bytes:
        """The task that submits, b"" in a driver."""

    def cell(self) -> tuple[str, bytes]:
        """The notebook cell on whose behalf this code runs."""

    def captured_group(self) -> PlacementGroup | None:
        """The placement group that this code's tasks run in unless they say where; the same object each time."""

    def base_environment(self) -> Environment:
        """The runtime environment from which tasks submitted here start."""


class DriverCode:
    """The code of a driver: of a notebook's cell or of a script."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def running_task(self) -> bytes:
        return b""

    def cell(self) -> tuple[str, bytes]:
        return engines.cell_source() if engines.cell_source is not None else ("", b"")

    def captured_group(self) -> PlacementGroup | None:
        return None

    def base_environment(self) -> Environment:
        return self._environment
