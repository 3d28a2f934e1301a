"""A head with four CPUs and two GPUs that are only counted, and a folder for experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import tune
from tests.census import Place
from tests.heads import assert_idle, inside


@pytest.fixture(scope="package")
def cluster() -> Iterator[Place]:
    """One head for the folder; nothing of it is left."""
    place = Place()
    with inside(place):
        nbaccel.init(num_cpus=4, num_gpus=2)
        yield place
        assert_idle()


@pytest.fixture
def kept(tmp_path: Path) -> Callable[..., tune.RunConfig]:
    """A RunConfig whose experiments are kept in the test's folder."""

    def made(name: str = "experiment", **options: Any) -> tune.RunConfig:
        return tune.RunConfig(name=name, storage_path=str(tmp_path / "runs"), **options)

    return made
