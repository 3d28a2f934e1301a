"""A machine to be furnished by the test, on which this process's heads, their probers and the command line run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import api
from nbaccel import engine as engines
from nbaccel.views.snapshot import DeviceRow, Snapshot
from tests.accelerators.fake_nvml import FakeNvml
from tests.accelerators.machines import MadeMachine
from tests.census import Place, carriers
from tests.heads import inside
from tests.rig import wait_until


class Lab:
    """A machine of files and tools; heads that are started after it was furnished find what is there."""

    def __init__(self, folder: Path, place: Place) -> None:
        self.place = place
        self.machine = MadeMachine(folder)
        self._folder = folder
        self.set(
            NBACCEL_MACHINE_ROOT=str(self.machine.tree),
            PATH=f"{self.machine.bin}:{os.defpath}",
            NBACCEL_DETECTION_TIMEOUT_S="600",  # a prober on a busy machine is late, and no driver hangs
        )
        self.nvml: FakeNvml

    def set(self, **variables: str) -> None:
        """Variables of everything that is started from now on."""
        os.environ.update(variables)

    @property
    def environ(self) -> dict[str, str]:
        """For programs of the test: as this process's own, in the same place."""
        return dict(os.environ)

    def add_nvml(self, library: Path) -> None:
        self.nvml = FakeNvml(library, self._folder)
        self.set(LD_LIBRARY_PATH=str(library.parent), NVML_STATE_FILE=str(self.nvml.state))

    def hide_driver(self) -> None:
        """Take the signs of an NVIDIA driver away again."""
        shutil.rmtree(self.machine.tree / "proc/driver/nvidia")

    def helper(self, role: str) -> list[int]:
        """Pids of a helper process of this test's heads."""
        return [pid for pid, title in carriers(self.place.token).items() if title == f"nbaccel::{role}"]

    def snapshot(self) -> Snapshot:
        return api.snapshot()

    @contextmanager
    def watching(self) -> Iterator[list[Snapshot]]:
        """The snapshots that a view gets, while it is open."""
        snapshots: list[Snapshot] = []
        engine: Any = engines.started()
        engine.watch(lambda snapshot: snapshots.append(snapshot) if snapshot is not None else None)
        try:
            yield snapshots
        finally:
            engine.watch(None)

    def row(self, id: str) -> DeviceRow:
        """The device that is shown with this id."""
        return next(row for row in self.snapshot().devices if row.id == id)

    def alerts(self, kind: str) -> list[str]:
        return [alert.message for alert in self.snapshot().alerts if alert.kind == kind]

    def wait_for_alert(self, kind: str) -> str:
        wait_until(lambda: self.alerts(kind), f"an alert of kind {kind}")
        return self.alerts(kind)[-1]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A machine without accelerators; whatever a head leaves behind fails the test."""
    with inside(Place()) as place:
        yield Lab(tmp_path, place)


@pytest.fixture
def nvidia_lab(lab: Lab, nvml_library: Path) -> Lab:
    """A machine with an NVIDIA driver, and no card yet."""
    lab.add_nvml(nvml_library)
    return lab


@nbaccel.remote
def look(*names: str) -> dict[str, Any]:
    """What a task is told of its devices, and these variables."""
    ids = {name: ids for name, ids in nbaccel.get_runtime_context().get_accelerator_ids().items() if ids}
    return {"ids": ids, **{name: os.environ.get(name) for name in names}}
