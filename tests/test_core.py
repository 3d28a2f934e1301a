"""The list of tests that run at each commit names tests that exist."""

from __future__ import annotations

from pathlib import Path

from tests.core import CHOSEN

HERE = Path(__file__).parent


def test_every_test_of_the_list_exists() -> None:
    for file, names in CHOSEN.items():
        source = (HERE / file).read_text()
        assert [name for name in names if f"def {name.partition('[')[0]}(" not in source] == [], file
