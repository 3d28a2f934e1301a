"""The reference has all there is: each public name with a docstring, each variable, each exception, each alert."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.cli import main
from nbaccel.notebook.options import MAGICS
from tools import reference_pages, tutorial_pages
from tools.reference_pages import PACKAGES

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
SOURCES = {path: path.read_text("utf-8") for path in sorted((ROOT / "nbaccel").rglob("*.py"))}
NEEDS = {
    "nbaccel.train.lightning": "lightning",
    "nbaccel.train.huggingface.transformers": "transformers",
    "nbaccel.train.torch": "torch",
    "nbaccel.util.dask": "dask",
}
# Variables by which processes of nbaccel's reach one another; nobody sets them.
OF_ITS_OWN = {
    "NBACCEL_EDITION",
    "NBACCEL_FAR_NODE",
    "NBACCEL_LOGGING_CONFIG",
    "NBACCEL_LOG_LEVELS",
    "NBACCEL_RAY_NODE",
    "NBACCEL_RAY_OF_THIS_MACHINE",
    "NBACCEL_REHEARSAL",
    "NBACCEL_SESSION",
    "NBACCEL_SETUP_ERROR",
    "NBACCEL_SETUP_FAILED",
    "NBACCEL_SETUP_HOOK",
    "NBACCEL_DIRECT_CALLS",
    "NBACCEL_TAKEN_ON",
    "NBACCEL_THIN_WORKERS",
    "NBACCEL_WORKER",
}


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text("utf-8")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.extra(NEEDS[name])] if name in NEEDS else []) for name in PACKAGES],
)
def test_every_public_name_says_what_it_does(name: str) -> None:
    module = importlib.import_module(name)
    silent = []
    for each in reference_pages.public_names(module):
        value = getattr(module, each)
        own = value.__dict__.get("__doc__") if inspect.isclass(value) else getattr(value, "__doc__", None)
        ours = getattr(value, "__module__", "").startswith("nbaccel")
        if ours and callable(value) and len((own or "").split()) < 3:
            silent.append(each)
    assert silent == []


def test_every_public_name_of_the_package_has_an_entry() -> None:
    text = reference_pages.package_page("nbaccel", "")
    listed = {name for name in nbaccel.__all__ if not inspect.ismodule(getattr(nbaccel, name))}
    entries = set(re.findall(r"^:+\{py:\w+\} (\w+)", text, re.MULTILINE))
    assert listed <= entries


def test_a_docstring_becomes_markdown_with_its_examples_as_code() -> None:
    written = reference_pages.markdown("Add `a<b` and <c>.\n\n>>> 1 + 1\n2\n\n    a ──► b\n\nLast *args.")
    assert written == ("Add `a<b` and \\<c>.\n\n```pycon\n>>> 1 + 1\n2\n```\n\n```text\na ──► b\n```\n\nLast \\*args.")


def test_a_table_of_names_in_a_docstring_becomes_a_list() -> None:
    assert reference_pages.markdown("result  what there is,\n        up to now\ncause   why") == (
        "- `result`: what there is,\n  up to now\n- `cause`: why"
    )


def test_every_magic_and_every_command_has_its_help_on_a_page() -> None:
    magics, commands = reference_pages.magics_page(), reference_pages.commands_page()
    assert [name for name in MAGICS if f"%{name}`" not in magics] == []
    context = main.make_context("nbaccel", ["status"])
    assert [name for name in main.list_commands(context) if f"## `nbaccel {name}`" not in commands] == []


def test_every_variable_that_a_user_may_set_is_on_the_page_of_variables() -> None:
    found = {name for text in SOURCES.values() for name in re.findall(r"\bNBACCEL_[A-Z_]*[A-Z]\b", text)}
    told = set(re.findall(r"NBACCEL_[A-Z_]*[A-Z]", page("variables")))
    assert found - OF_ITS_OWN - told - {"NBACCEL_NOSET", "NBACCEL_RAY"} == set()
    assert told - found == {"NBACCEL_NOSET_CUDA_VISIBLE_DEVICES"}  # made of a prefix and each family's variable


def test_every_exception_has_its_cause_and_its_remedy() -> None:
    errors = {name for name, value in vars(exceptions).items() if reference_pages.is_error_of(value, exceptions)}
    for name in ("nbaccel.train.errors", "nbaccel.serve.exceptions", "nbaccel.tune.error"):
        errors |= {
            each
            for each, value in vars(importlib.import_module(name)).items()
            if inspect.isclass(value) and issubclass(value, Exception) and value.__module__ == name
        }
    told = set(re.findall(r"`(\w+)`", page("errors")))
    assert {error for error in errors if not error.startswith("_")} - told == set()


def test_every_kind_of_alert_has_its_cause_and_its_remedy() -> None:
    calls = re.compile(r"""(?:\.alert\(|\bAlert\(|\bcls\()\s*"([\w ]+)",""")
    kinds = {
        kind
        for path, text in SOURCES.items()
        if "views" in path.parts or "head" in path.parts or "reports" in path.parts
        for kind in calls.findall(text)
    }
    kinds |= {"infeasible", "deadlock", "kept"}
    told = set(re.findall(r"^\| `([\w ]+)` \|", page("errors").partition("## Alerts")[2], re.MULTILINE))
    assert told == kinds


def test_a_tutorial_has_links_that_fit_its_place_and_ipythons_highlighting(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "gone.ipynb").touch()
    (tmp_path / "in" / "a.ipynb").write_text('{"cells": [{"source": ["[x](../docs/training.md)"]}], "metadata": {}}')
    tutorial_pages.write(tmp_path / "in", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.ipynb"]
    copy = (tmp_path / "out" / "a.ipynb").read_text()
    assert "[x](../training.md)" in copy and "ipython3" in copy


def test_links_of_pages_lead_to_the_site_or_become_words() -> None:
    page = "[a](../notebooks/01.ipynb) [b](../examples/x.py) [c](training.md) [d](decisions) [e](../../tests/x.py)"
    told = "[a](tutorials/01.ipynb) b [c](training.md) [d](decisions/README.md) e"
    assert tutorial_pages.with_links_of_the_site(page) == told
