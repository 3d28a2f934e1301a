"""Making a worker look like its driver: import path, working directory, variables, the runtime environment.

Environment variables as runtime_env writes them: `${NAME}` in a value stands for what the process had before.

>>> take_on({"LD_LIBRARY_PATH": "${LD_LIBRARY_PATH}:/opt/lib"})
"""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import cloudpickle

from nbaccel import exceptions, logging_config
from nbaccel.local_engine import wire

# A process that gets its variables by exec reads here how the user wrote them.
TAKEN_ON = "NBACCEL_TAKEN_ON"
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_taken_on: dict[str, str] = {}
_before: dict[str, str | None] = {}  # what `follow` has replaced


def expanded(value: str, environ: Mapping[str, str]) -> str:
    """A value with each `${NAME}` in place; what is not set is empty."""
    return _REFERENCE.sub(lambda found: environ.get(found[1], ""), value) if "${" in value else value


def take_on(variables: Mapping[str, str]) -> None:
    """Set variables in this process. What was set from the same words before is left: it must not grow."""
    if not _taken_on:
        _taken_on.update(json.loads(os.environ.pop(TAKEN_ON, "{}")))
    for name, value in variables.items():
        if _taken_on.get(name) != value or "${" not in value:
            os.environ[name] = expanded(value, os.environ)
            _taken_on[name] = value


def follow(changed: Mapping[str, str | None]) -> None:
    """Have the variables that the notebook has changed, and no longer those that it had changed before.

    What a runtime_env has set stays.
    """
    if not _taken_on:
        _taken_on.update(json.loads(os.environ.pop(TAKEN_ON, "{}")))
    wanted = {**_before, **changed}
    for name in changed:
        _before.setdefault(name, os.environ.get(name))
    for name, value in wanted.items():
        if name in _taken_on:
            continue
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def for_exec(variables: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """What to set for a process that is executed with these variables."""
    if not any("${" in value for value in variables.values()):
        return dict(variables)
    ready = {name: expanded(value, environ) for name, value in variables.items()}
    return ready | {TAKEN_ON: json.dumps(dict(variables))}


SETUP_ERROR = "NBACCEL_SETUP_ERROR"  # the reason why this process has no environment
MOST_ERROR = 16_000


def apply_setup(setup: wire.Setup) -> None:
    """What holds for every task of the job."""
    follow(setup.followed)
    take_on(setup.env_vars)
    logging_config.take_on_levels(setup.log_levels)
    logging_config.apply_from_environment()
    known = set(sys.path)
    sys.path[:] = [
        *setup.sys_path,
        *(entry for entry in sys.path if entry not in setup.sys_path and entry not in known - set(sys.path)),
    ]
    try:
        os.chdir(setup.cwd)
    except OSError:
        pass  # the driver's directory is gone or not readable: stay in the head's


def apply_runtime_env(environment: dict[str, Any], directory: str) -> None:
    """A task's or actor's own environment; `directory` is the session's. Raises RuntimeEnvSetupError."""
    failed = os.environ.get(SETUP_ERROR)
    if failed:
        raise exceptions.RuntimeEnvSetupError(failed)
    take_on(environment.get("env_vars") or {})
    if environment.get("pip") or environment.get("uv"):
        _first(sysconfig.get_path("purelib"))
    if environment.get("working_dir"):
        _enter(unpacked(environment["working_dir"], directory))
    for module in environment.get("py_modules") or []:
        _add_module(module, directory)
    hook = environment.get("worker_process_setup_hook")
    if hook:
        call_hook(hook)


def _enter(path: str) -> None:
    try:
        os.chdir(path)
    except OSError as error:
        raise exceptions.RuntimeEnvSetupError(f"runtime_env working_dir {path!r} cannot be entered: {error}") from error
    _first(path)


def unpacked(path: str, directory: str) -> str:
    """A zip file's contents, once for each session; a directory is used where it is."""
    if "://" in path:
        raise exceptions.RuntimeEnvSetupError(
            f"runtime_env names {path!r}, but the local engine takes paths of this machine only: download it first."
        )
    if not path.endswith(".zip"):
        return path
    place = _place_of(path, directory)
    with _locked(place):
        if not os.path.isdir(place):
            import shutil

            try:
                shutil.unpack_archive(path, f"{place}.part", "zip")
            except (OSError, shutil.ReadError, ValueError) as error:
                raise exceptions.RuntimeEnvSetupError(f"runtime_env: {path!r} cannot be unpacked: {error}") from error
            os.rename(f"{place}.part", place)
    inside = os.listdir(place)
    only = os.path.join(place, inside[0]) if len(inside) == 1 else place  # archives often hold one directory
    return only if os.path.isdir(only) else place


def _place_of(path: str, directory: str) -> str:
    import hashlib

    name = hashlib.blake2b(f"{path}{_changed_at(path)}".encode(), digest_size=8).hexdigest()
    os.makedirs(os.path.join(directory, "environments"), exist_ok=True)
    return os.path.join(directory, "environments", name)


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


@contextmanager
def _locked(place: str) -> Iterator[None]:
    with open(f"{place}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _add_module(path: str, directory: str) -> None:
    """Make a package, a module's file, a zip file or a wheel importable, and nothing that lies beside it."""
    if not os.path.exists(path):
        raise exceptions.RuntimeEnvSetupError(f"runtime_env py_modules names {path!r}, which does not exist.")
    if path.endswith(".whl"):
        _first(path)
    elif path.endswith(".zip"):
        _first(unpacked(path, directory))
    else:
        place = _place_of(path, directory)
        with _locked(place):
            os.makedirs(place, exist_ok=True)
            link = os.path.join(place, os.path.basename(path))
            if not os.path.lexists(link):
                os.symlink(path, link)
        _first(place)


def _first(directory: str) -> None:
    """Search here before anywhere else."""
    if directory in sys.path:
        sys.path.remove(directory)
    sys.path.insert(0, directory)
    importlib.invalidate_caches()


_hooks_called: set[str] = set()


def call_hook(hook: Any) -> None:
    """Once for each process. Raises RuntimeEnvSetupError."""
    name = str(hook)
    if name in _hooks_called:
        return
    try:
        if isinstance(hook, dict):
            cloudpickle.loads(bytes.fromhex(hook["pickled"]))()
        else:
            module, _dot, function = hook.rpartition(".")
            getattr(importlib.import_module(module), function)()
    except Exception as error:  # the user's hook may raise anything
        raise exceptions.RuntimeEnvSetupError(
            f"worker_process_setup_hook failed: {type(error).__name__}: {error}"
        ) from error
    _hooks_called.add(name)
