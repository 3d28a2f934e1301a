"""The conda recipe and the Dockerfile say what pyproject.toml says."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import nbaccel

ROOT = Path(__file__).parent.parent
RECIPE = ROOT / "conda" / "recipe.yaml"
ON_CONDA = {"msgspec": "msgspec-python", "torch": "pytorch", "ray[client]": "ray-client"}  # other names there


def conda_name(requirement: str) -> str:
    """A requirement of pip, as conda writes it."""
    name, bound, rest = requirement.partition(">=")
    return f"{ON_CONDA.get(name, name)} {bound}{rest}"


@pytest.fixture
def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def recipe() -> Any:
    return yaml.safe_load(RECIPE.read_text())


def test_the_recipe_needs_what_the_package_needs(project, recipe):
    wanted = {f"python {project['requires-python']}", *map(conda_name, project["dependencies"])}
    assert set(recipe["requirements"]["run"]) == wanted


def test_the_recipe_bounds_what_the_extras_bound(project, recipe):
    extras = {conda_name(each) for extra in project["optional-dependencies"].values() for each in extra}
    assert set(recipe["requirements"]["run_constraints"]) <= extras


def test_the_recipe_is_of_this_version_and_license(project, recipe):
    assert recipe["package"]["version"] == nbaccel.__version__
    assert recipe["about"]["license"] == project["license"]
    assert recipe["about"]["license_file"] == project["license-files"]
    assert recipe["build"]["python"]["entry_points"] == [f"nbaccel = {project['scripts']['nbaccel']}"]


def test_rattler_build_takes_the_recipe():
    rattler_build = pytest.importorskip("rattler_build", reason="py-rattler-build is not installed (others)")
    (variant,) = rattler_build.Stage0Recipe.from_file(str(RECIPE)).render(rattler_build.VariantConfig())
    assert (variant.recipe.package.name, variant.recipe.package.version) == ("nbaccel", nbaccel.__version__)


def test_the_image_copies_what_is_there_and_runs_what_binder_runs():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    words = [line.split() for line in lines if line.startswith("COPY")]
    assert all((ROOT / path).exists() for _, *paths, _ in words for path in paths if not path.startswith("--"))
    assert any("binder/postBuild" in line for line in lines if line.startswith("RUN"))
