"""A fixture of this room: an empty machine made of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.accelerators.machines import MadeMachine

# Examples are judged by what they give, not by how long a busy computer takes over one.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def machine(tmp_path: Path) -> MadeMachine:
    """A machine without any accelerator, to be furnished by the test."""
    return MadeMachine(tmp_path)
