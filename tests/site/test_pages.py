"""What a reader of the site can copy: each block of Python of a recipe runs, and each command is one that there is."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbaccel import engine
from nbaccel.cli import main
from tests.census import Place
from tests.heads import inside

DOCS = Path(__file__).parents[2] / "docs"
RECIPES = sorted((DOCS / "how-to").glob("*.md"))
TABLES = sorted((DOCS / "coming-from").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_LINES = 60  # of a how-to: a screen; the page for administrators is complete instead
RIGHT_SIDE = re.compile(r"^\|.*\| `([^`]+)` \|$", re.MULTILINE)
NEEDS = {"accelerate": "torch", "dask": "dask", "lightning": "lightning"}


def blocks(page: Path, *languages: str) -> list[str]:
    return [code for language, code in BLOCK.findall(page.read_text("utf-8")) if language in languages]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[InteractiveShell]:
    """As a notebook's, on a machine of its own."""
    with inside(Place()):
        os.environ["NBACCEL_STORAGE"] = str(tmp_path)
        shell = InteractiveShell.instance()
        yield shell
        shell.reset(new_session=False)
        engine.cell_source = None
        shell.history_manager.end_session()
        InteractiveShell.clear_instance()


def run(shell: InteractiveShell, code: str) -> Any:
    done = shell.run_cell(code)
    done.raise_error()
    return done.result


@pytest.mark.parametrize(
    "page", [page for page in RECIPES if blocks(page, "python", "ipython")], ids=lambda page: page.stem
)
def test_the_blocks_of_a_recipe_run_from_the_first_to_the_last(page: Path, shell: InteractiveShell) -> None:
    shell.user_ns["c"] = Config()  # what jupyterhub_config.py begins with
    for code in blocks(page, "python", "ipython"):
        run(shell, code)


WHAT_IT_NEEDS = [
    pytest.param(page, marks=[pytest.mark.extra(NEEDS[page.stem])] if page.stem in NEEDS else [])
    for page in TABLES
    if page.stem != "index"
]


@pytest.mark.parametrize("page", WHAT_IT_NEEDS, ids=lambda page: page.stem)
def test_the_right_side_of_a_table_runs_from_its_first_row_to_its_last(page: Path, shell: InteractiveShell) -> None:
    first, *after = blocks(page, "python")
    rows = RIGHT_SIDE.findall(page.read_text("utf-8"))
    assert len(rows) >= 6
    for code in (first, *rows, *after):
        run(shell, code)


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_a_recipe_is_at_most_a_screen_long(page: Path) -> None:
    lines = [line for line in page.read_text("utf-8").splitlines() if line.strip()]
    assert len(lines) <= (200 if page.stem == "jupyterhub" else MOST_LINES)


def commands() -> list[str]:
    pages = [*DOCS.glob("*.md"), *RECIPES, *TABLES]
    lines = [line for page in pages for code in blocks(page, "bash") for line in code.splitlines()]
    return sorted({line.split("  #")[0] for line in lines if line.startswith("nbaccel ")})


@pytest.mark.parametrize("line", commands())
def test_the_commands_of_a_page_exist_with_their_options(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    context = main.make_context("nbaccel", words, obj=object())
    name, command, rest = main.resolve_command(context, words)
    assert command is not None
    command.make_context(name, rest, parent=context)
