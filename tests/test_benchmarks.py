"""The programs of `benchmarks/` are run by hand and rarely: each is imported here, and one of them runs."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from benchmarks import scale

NAMES = sorted(path.stem for path in Path(scale.__file__).parent.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", NAMES)
def test_the_program_is_imported(name: str) -> None:
    assert importlib.import_module(f"benchmarks.{name}").__doc__


def test_the_scheduler_and_its_snapshots_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    scale.main(nodes=2, devices=4, tasks=2000, kinds=20)
    assert "2 nodes, 8 devices" in capsys.readouterr().out
