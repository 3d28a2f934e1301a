"""A fixture of this room: an empty machine made of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.accelerators.machines import MadeMachine


@pytest.fixture
def machine(tmp_path: Path) -> MadeMachine:
    """A machine without any accelerator, to be furnished by the test."""
    return MadeMachine(tmp_path)
