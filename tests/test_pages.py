"""Pages that promise something name the tests that keep it true: these tests exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
DIFFERENCES = (DOCS / "reference/differences-from-ray.md").read_text()
ROWS = [line for line in DIFFERENCES.splitlines() if line.startswith("| ") and not line.startswith("| what")]
TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:40])
def test_each_difference_from_ray_names_a_test(row: str) -> None:
    assert TEST.search(row.rsplit("|", 2)[1]), "the last column names a test"


def test_a_test_that_a_page_names_exists() -> None:
    for page in DOCS.rglob("*.md"):
        for file, name in TEST.findall(page.read_text()):
            path = TESTS / file
            assert path.exists() and f"def {name}(" in path.read_text(), f"{page.name}: {file}::{name}"


def test_no_test_stands_for_two_differences() -> None:
    named = TEST.findall(DIFFERENCES)
    assert sorted(set(named)) == sorted(named)
