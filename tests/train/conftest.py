"""A head with four CPUs and two GPUs that are only counted, and a folder for runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel.train import RunConfig, controller, worker_group
from tests.census import Place
from tests.heads import assert_idle, inside


@pytest.fixture(scope="module")
def patient() -> Iterator[None]:
    """Runs wait longer for their ranks: on a machine that stands still, five or ten seconds are soon over."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(controller, "SILENT_S", 100.0)
        patch.setattr(controller, "FINALLY_S", 100.0)
        patch.setattr(worker_group, "_LEAVE_S", 100.0)
        yield


@pytest.fixture(scope="module")
def cluster(patient: None) -> Iterator[Place]:
    """One head for a module; nothing of it is left."""
    place = Place()
    with inside(place):
        nbaccel.init(num_cpus=4, num_gpus=2)
        yield place
        assert_idle()


@pytest.fixture
def kept(tmp_path: Path) -> Callable[..., RunConfig]:
    """A RunConfig whose runs are kept in the test's folder."""

    def made(name: str = "run", **options: Any) -> RunConfig:
        return RunConfig(name=name, storage_path=str(tmp_path / "runs"), **options)

    return made
