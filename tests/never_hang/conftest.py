"""What these tests share: heads in a place of their own, and an NVML of our own where a real device is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import nbaccel
from tests.accelerators.fake_nvml import FakeNvml, build
from tests.census import Place
from tests.local_engine.conftest import inside


@pytest.fixture
def place() -> Iterator[Place]:
    """For programs that a test runs."""
    place = Place()
    yield place
    place.assert_nothing_left()
    place.clear()


@pytest.fixture
def own_head() -> Iterator[Place]:
    """For a test that calls init() itself."""
    with inside(Place()) as place:
        yield place


@pytest.fixture(scope="module")
def two_a100(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Two GPUs of 40 GiB and four CPUs, for all tests of a module: each gives back what it takes."""
    tmp_path_factory.getbasetemp()  # made now, or it would lie in the place
    with inside(Place()) as place:
        nbaccel.init(simulate="nvidia:2xA100", num_cpus=4)
        yield place


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = build(tmp_path_factory.mktemp("nvml"))
    if library is None:
        pytest.skip("there is no C compiler (cc, gcc or clang) to build the NVML of these tests with")
    return library


@pytest.fixture
def nvml(nvml_library: Path, tmp_path: Path) -> FakeNvml:
    """An NVML without cards, to be furnished by the test."""
    return FakeNvml(nvml_library, tmp_path)
