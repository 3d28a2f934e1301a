"""Ray's `ray.job_config` path: the settings of a driver as one object, for `init(job_config=...)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class JobConfig:
    """A namespace and a runtime environment for everything that this driver starts, and metadata of your own.

    `code_search_path` names directories that workers put first in `sys.path`. Raises TypeError if it is not a list.

    >>> nbaccel.init(job_config=JobConfig(ray_namespace="analysis", runtime_env={"env_vars": {"A": "1"}}))
    """

    def __init__(
        self,
        *,
        code_search_path: Sequence[str] | None = None,
        runtime_env: Mapping[str, Any] | None = None,
        metadata: Mapping[str, str] | None = None,
        ray_namespace: str | None = None,
        default_actor_lifetime: str = "non_detached",
    ) -> None:
        if not isinstance(code_search_path or [], (list, tuple)):
            raise TypeError(
                f"The type of code search path is incorrect: it must be a list of directories, but is a "
                f"{type(code_search_path).__name__}."
            )
        self.code_search_path = list(code_search_path or [])
        self.set_runtime_env(runtime_env)
        self.metadata = dict(metadata or {})
        self.ray_namespace = ray_namespace
        self.set_default_actor_lifetime(default_actor_lifetime)

    def set_runtime_env(self, runtime_env: Mapping[str, Any] | None, validate: bool = False) -> None:
        """Set the runtime environment. init() checks its fields, whatever Ray's `validate` says."""
        self.runtime_env = dict(runtime_env or {})

    def set_metadata(self, key: str, value: str) -> None:
        self.metadata[key] = value

    def set_ray_namespace(self, ray_namespace: str) -> None:
        self.ray_namespace = ray_namespace

    def set_default_actor_lifetime(self, default_actor_lifetime: str) -> None:
        """Raises ValueError for anything but "non_detached". To detach an actor, set its own lifetime."""
        if default_actor_lifetime == "detached":
            raise ValueError(
                "default_actor_lifetime='detached' is not supported: give lifetime='detached' and a name to the actors "
                "that are to outlive this driver."
            )
        if default_actor_lifetime != "non_detached":
            raise ValueError(
                f"Default actor lifetime must be one of `detached`, `non_detached`, but is {default_actor_lifetime!r}."
            )

    def keywords(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The keywords of init() with the settings of this object added; keywords that are given explicitly win."""
        merged = {name: value for name, value in given.items() if name != "job_config"}
        own = {
            "namespace": self.ray_namespace, "runtime_env": self.runtime_env, "_code_search_path": self.code_search_path
        }  # fmt: skip
        for name, value in own.items():
            if value and merged.get(name) is None:
                merged[name] = value
        return merged


__all__ = ["JobConfig"]
