"""Runtime environments by their key, for the processes that must be started with one."""

from __future__ import annotations

from typing import Any

import msgspec

from nbaccel.views.listed import ListedEnvironment


class Environments:
    """The runtime environments that the head knows; it passes them on and starts processes with their variables."""

    def __init__(self) -> None:
        self._by_key: dict[str, dict[str, Any]] = {"": {}}
        self.errors: dict[str, str] = {}  # key -> why it could not be made

    def learn(self, key: str, body: bytes) -> None:
        if key not in self._by_key:
            self._by_key[key] = msgspec.json.decode(body)

    def for_exec(self, key: str) -> tuple[dict[str, str], bytes]:
        """The variables and the whole environment as JSON, for a process that is started as a program."""
        environment = self._by_key.get(key, {})
        variables = {str(name): str(value) for name, value in (environment.get("env_vars") or {}).items()}
        return variables, msgspec.json.encode(environment)

    def variables(self, body: bytes) -> dict[str, str]:
        """The env_vars of an environment."""
        return {str(k): str(v) for k, v in (msgspec.json.decode(body).get("env_vars") or {}).items()}

    def failed(self, key: str, why: str) -> None:
        """A task reports that its environment could not be made."""
        if key and why != "cancelled":
            self.errors[key] = why

    def rows(self, node_id: str) -> list[ListedEnvironment]:
        """The requested environments, for `list_runtime_envs`."""
        return [
            ListedEnvironment(environment, self.errors.get(key), node_id)
            for key, environment in self._by_key.items()
            if environment
        ]
