"""What is published: built twice it is the same, and the wheel works in an empty environment of each Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.census import Place

ROOT = Path(__file__).parent.parent
PATIENCE_S = 600
PYTHONS = ("3.11", "3.12", "3.13", "3.14")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * PATIENCE_S)]

SMOKE = """
import nbaccel, tempfile
from nbaccel import train, tune
from nbaccel.train.data_parallel_trainer import DataParallelTrainer

nbaccel.init(num_cpus=2, num_gpus=2)

@nbaccel.remote(num_gpus=0.5)
def ids():
    return nbaccel.get_runtime_context().get_accelerator_ids()["GPU"]

assert nbaccel.get(ids.remote()) == ["0"]

def loop(config):
    train.report({"loss": config["lr"]})

folder = tempfile.mkdtemp()
run = train.RunConfig(storage_path=folder)
result = DataParallelTrainer(loop, train_loop_config={"lr": 0.5}, run_config=run).fit()
assert result.metrics["loss"] == 0.5, result

def trial(config):
    tune.report({"loss": config["lr"]})

grid = tune.Tuner(trial, param_space={"lr": tune.grid_search([1.0, 0.25])},
                  tune_config=tune.TuneConfig(metric="loss", mode="min"), run_config=run).fit()
assert grid.get_best_result().config == {"lr": 0.25}
"""


def build(folder: Path) -> list[Path]:
    pip = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(pip, check=True, capture_output=True, timeout=PATIENCE_S, env=environment)
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    pytest.importorskip("build", reason="build is not installed")
    return build(tmp_path_factory.mktemp("dist"))


def test_two_builds_are_equal_byte_for_byte(built: list[Path], tmp_path: Path) -> None:
    again = build(tmp_path)
    assert [path.name for path in again] == [path.name for path in built]
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in built]


def test_the_wheel_has_the_package_and_nothing_else(built: list[Path]) -> None:
    [wheel] = (path for path in built if path.suffix == ".whl")
    roots = {name.split("/")[0] for name in ZipFile(wheel).namelist()}
    assert len(roots) == 2 and "nbaccel" in roots and wheel.stat().st_size < 3_000_000
    assert not [name for name in ZipFile(wheel).namelist() if "/test" in name and "/site/" not in name]
    assert "nbaccel/errors.md" in ZipFile(wheel).namelist()  # for `nbaccel explain-error`


def test_the_long_description_has_no_link_or_picture_that_needs_a_checkout(built: list[Path]) -> None:
    [wheel] = (path for path in built if path.suffix == ".whl")
    [metadata] = (name for name in ZipFile(wheel).namelist() if name.endswith("/METADATA"))
    text = ZipFile(wheel).read(metadata).decode()
    assert "Description-Content-Type: text/markdown" in text and "## Where to go next" in text
    assert not re.findall(r"\]\((?!https://)", text)


def test_the_sdist_has_what_its_makefile_needs(built: list[Path]) -> None:
    [sdist] = (path for path in built if path.name.endswith(".tar.gz"))
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Makefile", "extension/pyproject.toml", "notebooks/01_quickstart.ipynb", "LICENSE", "README.md"} <= names
    assert not [name for name in names if "node_modules" in name]


@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_works_in_an_empty_environment(version: str, built: list[Path], tmp_path: Path, place: Place) -> None:
    python = _python(version)
    if python is None:
        pytest.skip(f"there is no Python {version}")
    [wheel] = (path for path in built if path.suffix == ".whl")
    subprocess.run([python, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=PATIENCE_S)
    own = str(tmp_path / "venv/bin/python")
    subprocess.run([own, "-m", "pip", "install", "--quiet", str(wheel)], check=True, timeout=PATIENCE_S)
    environment = place.environ | {"PATH": f"{tmp_path}/venv/bin:{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [own, "-c", SMOKE], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    doctor = subprocess.run(
        [own, "-m", "nbaccel", "doctor"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert doctor.returncode == 0 and "GPU" in doctor.stdout, doctor.stderr


def _python(version: str) -> str | None:
    """The interpreter of this version, also one of pyenv that its shims do not show."""
    if sys.version.startswith(f"{version}."):
        return sys.executable
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(kept[-1]) if kept else shutil.which(f"python{version}")
