"""What is built of the panel: its size, its types, and what Jupyter says of the installed wheel."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parent.parent.parent / "extension"
INSTALLED = Path(sys.prefix) / "share" / "jupyter" / "labextensions" / "@nbaccel" / "lab"
MOST_BYTES = 220_000  # of JavaScript, with both modules of the renderer
PATIENCE_S = 280  # with a program that takes seconds on a machine that is not busy


pytestmark = pytest.mark.extra("jupyterlab")


@pytest.fixture
def installed() -> Path:
    if not INSTALLED.exists():
        pytest.skip("nbaccel-lab is not installed: make extension")
    return INSTALLED


def test_the_panel_is_small_and_contains_no_source_maps(installed: Path) -> None:
    scripts = list((installed / "static").glob("*.js"))
    assert sum(script.stat().st_size for script in scripts) < MOST_BYTES
    assert not list(installed.rglob("*.map"))
    entry = json.loads((installed / "package.json").read_text())["jupyterlab"]["_build"]["load"]
    assert (installed / entry).exists()


def test_jupyterlab_lists_the_panel_as_enabled_and_whole(installed: Path) -> None:
    command = [sys.executable, "-m", "jupyterlab.labextensions", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    said = listed.stdout + listed.stderr
    [line] = [line for line in said.splitlines() if "@nbaccel/lab" in line]
    assert "enabled" in line and "OK" in line, said


def test_the_types_of_the_panel_fit_the_cockpit_that_it_bundles() -> None:
    compiler = EXTENSION / "node_modules" / "typescript" / "bin" / "tsc"
    if shutil.which("node") is None or not compiler.exists():
        pytest.skip("TypeScript is not installed: make extension")
    checked = subprocess.run(
        ["node", str(compiler), "-p", str(EXTENSION / "tsconfig.json")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("folder", [EXTENSION, EXTENSION.parent / "frontend"], ids=["panel", "front end"])
def test_the_lock_files_name_no_registry(folder: Path) -> None:
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    assert packages and not [name for name, package in packages.items() if "resolved" in package]
