"""Pages that promise something name the tests that keep it true: these tests exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.census import Place

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


def test_the_readme_is_short_and_its_program_runs(place: Place) -> None:
    text = (DOCS.parent / "README.md").read_text()
    assert len(text.splitlines()) <= 120
    [magics, program] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert "%accel_init num_gpus=2" in magics
    start = "import nbaccel\nnbaccel.init(num_gpus=2)\n"
    done = place.run(f"{start}{program.rstrip().replace('ray.get([', 'print(*ray.get([', 1)})")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"(\(\d, \['[01]'\], '[01]'\) ?){4}", done.stdout.strip())


def test_the_figures_of_the_readme_are_those_that_were_measured() -> None:
    readme, measured = ((DOCS.parent / name).read_text() for name in ("README.md", "docs/benchmarks.md"))
    table = readme.partition("| Ray 2.60 |\n")[2].partition("\n\n")[0]
    figures = [re.split(r" *\| *", row)[2:4] for row in table.splitlines()[1:]]
    assert len(figures) == 6
    for nbaccel, ray in figures:
        assert re.search(rf"\| +{re.escape(nbaccel)} \| +{re.escape(ray)} \|", measured), (nbaccel, ray)


def test_a_decision_is_one_short_page_that_is_listed() -> None:
    listed = (DOCS / "decisions/README.md").read_text()
    for page in (DOCS / "decisions").glob("0*.md"):
        text = page.read_text()
        assert len(text.split()) <= 500 and page.name in listed, page.name
        assert all(f"**{word}" in text for word in ("Question.", "Decision.", "Cost")), page.name


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*DOCS.parent.glob("*.md"), *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            if "://" not in target and not target.startswith(("mailto:", "api/", "tutorials/")):  # made by `make docs`
                assert (page.parent / target).exists(), f"{page.name}: {target}"
