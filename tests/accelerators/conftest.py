"""Fixtures of this room: an empty machine made of files, and an NVML of our own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.accelerators.fake_nvml import FakeNvml, build
from tests.accelerators.machines import MadeMachine

# Examples are judged by what they give, not by how long a busy computer takes over one.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def machine(tmp_path: Path) -> MadeMachine:
    """A machine without any accelerator, to be furnished by the test."""
    return MadeMachine(tmp_path)


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
