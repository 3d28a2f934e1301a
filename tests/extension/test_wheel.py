"""The built wheel, installed into an environment that has neither Node nor nbaccel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

EXTENSION = Path(__file__).parent.parent.parent / "extension"
VERSION = json.loads((EXTENSION / "package.json").read_text())["version"]
PATIENCE_S = 1200

pytestmark = [pytest.mark.real, pytest.mark.timeout(2 * PATIENCE_S)]


def run(*command: str, path: str) -> str:
    """What a command says, with nothing but these folders to look for programs in."""
    environment = {"PATH": path, "HOME": os.environ.get("HOME", "/"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP"))}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", f"--wheel-dir={folder}", str(EXTENSION))
    run(*pip, path=os.environ["PATH"])
    [built] = folder.glob("nbaccel_lab-*.whl")
    return built


def test_the_wheel_has_the_panel_its_license_and_no_source_maps(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    assert any(name.endswith("share/jupyter/labextensions/@nbaccel/lab/package.json") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.endswith(".map")]


def test_it_works_where_there_is_no_node(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path)], check=True, timeout=PATIENCE_S)
    only = str(tmp_path / "bin")  # neither node nor npm is there
    python = f"{only}/python"
    run(python, "-m", "pip", "install", "--quiet", str(wheel), "jupyterlab>=4,<5", path=only)
    servers = run(python, "-m", "jupyter", "server", "extension", "list", path=only)
    [line] = [line for line in servers.splitlines() if f"nbaccel_lab {VERSION}" in line]
    assert "OK" in line, servers
    panels = run(python, "-m", "jupyter", "labextension", "list", path=only)
    [line] = [line for line in panels.splitlines() if "@nbaccel/lab" in line]
    assert "enabled" in line and "OK" in line, panels
    code = "import nbaccel_lab.app, importlib.util as each; assert each.find_spec('nbaccel') is None"
    run(python, "-I", "-c", code, path=only)


def test_it_is_built_where_there_is_no_node(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    leave = shutil.ignore_patterns("node_modules", "labextension", "renderer", "__pycache__")
    for folder in ("extension", "frontend", "nbaccel/notebook", "nbaccel/views"):
        shutil.copytree(EXTENSION.parent / folder, checkout / folder, ignore=leave)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=PATIENCE_S)
    tools = tmp_path / "tools"  # what npm's own scripts want, and neither node nor npm
    tools.mkdir()
    for name in ("sh", "env"):
        (tools / name).symlink_to(shutil.which(name) or "")
    only = f"{tmp_path / 'venv' / 'bin'}:{tools}"
    python = str(tmp_path / "venv" / "bin" / "python")
    run(
        python,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        f"--wheel-dir={tmp_path}",
        str(checkout / "extension"),
        path=only,
    )
    [built] = tmp_path.glob("nbaccel_lab-*.whl")
    assert any(name.endswith("@nbaccel/lab/package.json") for name in ZipFile(built).namelist())


def test_its_license_is_that_of_the_project() -> None:
    assert (EXTENSION / "LICENSE").read_text() == (EXTENSION.parent / "LICENSE").read_text()
