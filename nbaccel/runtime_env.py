"""Ray's `ray.runtime_env` path: runtime environments as objects. They are dicts, checked when they are made."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from nbaccel.handles.option_checks import runtime_env as checked


class RuntimeEnvConfig(dict[str, Any]):
    """How an environment is set up: `setup_timeout_seconds` (-1: without end), and Ray's other fields."""

    def __init__(
        self, setup_timeout_seconds: int = 600, eager_install: bool = True, log_files: list[str] | None = None
    ) -> None:
        given = {"setup_timeout_seconds": setup_timeout_seconds, "eager_install": eager_install}
        checked("runtime_env", {"config": given})
        super().__init__(given, log_files=log_files or [])

    def to_dict(self) -> dict[str, Any]:
        return dict(self)


class RuntimeEnv(dict[str, Any]):
    """A runtime environment for init, a task or an actor.

    >>> RuntimeEnv(env_vars={"OMP_NUM_THREADS": "4"}, py_modules=["./mylib"])

    Raises TypeError or ValueError for a field or value that no environment can have.
    """

    def __init__(
        self,
        *,
        py_modules: list[Any] | None = None,
        py_executable: str | None = None,
        working_dir: str | None = None,
        pip: Any = None,
        conda: Any = None,
        container: dict[str, str] | None = None,
        env_vars: dict[str, str] | None = None,
        worker_process_setup_hook: Callable[[], None] | str | None = None,
        nsight: Any = None,
        rocprof_sys: Any = None,
        config: dict[str, Any] | RuntimeEnvConfig | None = None,
        _validate: bool = True,
        image_uri: str | None = None,
        uv: Any = None,
        **kwargs: Any,
    ) -> None:
        given = dict(locals()) | kwargs
        for name in ("self", "kwargs", "_validate", "__class__"):
            given.pop(name, None)
        fields = {name: value for name, value in given.items() if value is not None}
        super().__init__((checked("runtime_env", fields) or {}) if _validate else fields)

    def to_dict(self) -> dict[str, Any]:
        """The environment as a plain dict."""
        return dict(self)

    def set(self, name: str, value: Any) -> None:
        """Set a field, with the checks of the constructor."""
        self[name] = (checked("runtime_env", {name: value}) or {})[name]

    def serialize(self) -> str:
        """The environment as JSON with sorted keys, so that equal environments give equal text."""
        return json.dumps(self.to_dict(), sort_keys=True, default=str)

    @classmethod
    def deserialize(cls, text: str) -> RuntimeEnv:
        return cls(_validate=False, **json.loads(text))

    def has_pip(self) -> bool:
        return bool(self.get("pip"))

    def has_uv(self) -> bool:
        return bool(self.get("uv"))

    def has_conda(self) -> bool:
        return bool(self.get("conda"))

    def has_working_dir(self) -> bool:
        return self.get("working_dir") is not None

    def working_dir(self) -> str:
        return str(self.get("working_dir") or "")

    def py_modules(self) -> list[Any]:
        return list(self.get("py_modules") or [])

    def py_executable(self) -> str | None:
        return self.get("py_executable")

    def env_vars(self) -> dict[str, str]:
        return dict(self.get("env_vars") or {})


__all__ = ["RuntimeEnv", "RuntimeEnvConfig"]
