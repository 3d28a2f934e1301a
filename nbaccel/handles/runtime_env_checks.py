"""Checks of runtime environments: each takes a field's name and value, and returns the value to keep or raises."""

import os
from collections.abc import Mapping
from typing import Any

from nbaccel.handles.option_checks import Check, anything, did_you_mean, string_dict, word, words, wrong_type

_FIELDS = (
    "working_dir", "py_modules", "excludes", "pip", "uv", "conda", "env_vars", "config", "container", "image_uri",
    "py_executable", "java_jars", "worker_process_setup_hook", "nsight", "rocprof_sys", "mpi",
)  # fmt: skip
_PACKAGE_MANAGERS = ("pip", "uv", "conda")
_PACKAGE_FIELDS = (
    "packages", "pip_check", "pip_install_options", "pip_version", "uv_check", "uv_pip_install_options",
    "uv_install_options", "uv_version",
)  # fmt: skip


def hides_by_variable(variables: Mapping[str, str]) -> bool:
    """Whether Ray's variable hides devices from tasks that have none."""
    return variables.get("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "").lower() in ("1", "true")


def hides_in(environment: Any) -> bool:
    """Whether the variables of a runtime_env hide devices from tasks that have none."""
    variables = environment.get("env_vars") if isinstance(environment, Mapping) else None
    return isinstance(variables, Mapping) and hides_by_variable(variables)


def runtime_env(name: str, value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise wrong_type(name, value, "a dict or None")
    for key in value:
        if not isinstance(key, str) or (not key.startswith("_") and key not in _FIELDS):
            known = ", ".join(_FIELDS)
            hint = did_you_mean(str(key), _FIELDS)
            raise ValueError(f"{name} has no field {key!r}.{hint} Its fields are {known}.")
    if value.get("container") is not None and set(value) - {"container", "config", "env_vars"}:
        others = sorted(set(value) - {"container", "config", "env_vars"})
        raise ValueError(f"{name} names a container, which cannot be used together with {', '.join(others)}.")
    given = [field for field in _PACKAGE_MANAGERS if value.get(field) is not None]
    if len(given) > 1:
        raise ValueError(
            f"{name} names {' and '.join(given)}, but only one of pip, uv and conda can be used at a time."
        )
    return {key: _CHECKS.get(key, anything)(f"{name}[{key!r}]", item) for key, item in value.items()}


def _packages(name: str, value: Any) -> Any:
    if isinstance(value, str) or value is None:
        return value
    if not isinstance(value, Mapping):
        return list(words(name, value))
    unknown = [key for key in value if key not in _PACKAGE_FIELDS]
    if unknown:
        raise ValueError(f"{name} can only have the fields {', '.join(_PACKAGE_FIELDS)}, but got {unknown}.")
    if "packages" not in value:
        raise ValueError(f"{name} must say which packages: {{'packages': ['numpy'], …}}, but got {dict(value)}.")
    return value


def _conda(name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, str | Mapping):
        raise wrong_type(name, value, "the name of an environment, a path, or a dict")
    return value


def _config(name: str, value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise wrong_type(name, value, "a dict or a RuntimeEnvConfig")
    seconds = value.get("setup_timeout_seconds", -1)
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        raise wrong_type(f"{name}['setup_timeout_seconds']", seconds, "a whole number of seconds")
    if seconds <= 0 and seconds != -1:
        raise ValueError(f"setup_timeout_seconds must be greater than zero or equals to -1, got: {seconds}")
    if not isinstance(value.get("eager_install", True), bool):
        raise wrong_type(f"{name}['eager_install']", value["eager_install"], "True or False")
    return dict(value)


def _working_dir(name: str, value: Any) -> str | None:
    path = word(name, value)
    if path is not None and "://" not in path and not os.path.exists(os.path.expanduser(path)):
        raise ValueError(f"{name} is {path!r}, which is not a valid path: there is nothing of this name.")
    return path


def _py_modules(name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, list):
        raise wrong_type(name, value, "a list of paths or modules")
    return value


_CHECKS: dict[str, Check] = {
    "env_vars": string_dict,
    "working_dir": _working_dir,
    "py_modules": _py_modules,
    "pip": _packages,
    "uv": _packages,
    "conda": _conda,
    "config": _config,
    "excludes": lambda name, value: list(words(name, value)),
    "py_executable": word,
}
