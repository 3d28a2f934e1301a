"""Who submits: the task, cell, environment and placement group that a process's tasks take over."""

from __future__ import annotations

from typing import Protocol

from nbaccel import engine as engines
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.local_engine.client.environment_spec import Environment


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
