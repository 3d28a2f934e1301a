"""The lists of chosen tests name tests that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core import CHOSEN, OF_VERSIONS

HERE = Path(__file__).parent


@pytest.mark.parametrize("chosen", [CHOSEN, OF_VERSIONS], ids=["each commit", "each version of Ray"])
def test_every_test_of_the_list_exists(chosen: dict[str, set[str]]) -> None:
    for file, names in chosen.items():
        source = (HERE / file).read_text()
        assert [name for name in names if f"def {name.partition('[')[0]}(" not in source] == [], file
