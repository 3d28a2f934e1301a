"""What these tests share: a head with two simulated GPUs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import nbaccel
from tests.census import Place
from tests.heads import inside


@pytest.fixture(scope="module")
def two_a100(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Two GPUs of 40 GiB and four CPUs, for all tests of a module: each gives back what it takes."""
    tmp_path_factory.getbasetemp()  # made now, or it would lie in the place
    with inside(Place()) as place:
        nbaccel.init(simulate="nvidia:2xA100", num_cpus=4)
        yield place
