"""Which extra of pyproject.toml a test needs: `make test` installs the extra "test" and runs what needs no other."""

from __future__ import annotations

import importlib.util
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

EXTRAS = {
    "test": {
        "anywidget",
        "fsspec",
        "httptools",
        "joblib",
        "jsonpatch",
        "jsonschema",
        "numpy",
        "optuna",
        "starlette",
        "tqdm",
    }
    | {"uvicorn", "websockets", "yaml"},
    "ray": {"ray", "grpc"},
    "lab": {"jupyterlab", "jupyter_server"},
    "train": {"torch"},
    "others": {
        "dask",
        "diffusers",
        "jax",
        "jupyter_server_mcp",
        "lightgbm",
        "lightning",
        "marimo",
        "modin",
        "sklearn",
        "transformers",
    }
    | {"hamilton", "myst_nb", "openai", "pydata_sphinx_theme", "xgboost"},
}
IMPORTED = re.compile(r"""importorskip\("([\w.]+)\"""")
NOT_INSTALLED = re.compile(r"could not import '([\w.]+)'|^(?:Skipped: )?(\w+) is not installed$")


def extra_of(package: str) -> str:
    """The extra that brings a package; "dev" brings those that no user needs."""
    top = package.partition(".")[0]
    return next((extra for extra, packages in EXTRAS.items() if top in packages), "dev")


def mark(item: pytest.Item) -> None:
    """Skip the test if a package that it names in `@pytest.mark.extra("torch")` is missing. Mark it as `extra` if it
    needs more than `make test` installs, by that mark or by an `importorskip` of its own or of its module. Packages of
    others are for `make test-all`.
    """
    marked = {name for each in item.iter_markers("extra") for name in each.args}
    for missing in sorted(name for name in marked if importlib.util.find_spec(name) is None):
        item.add_marker(pytest.mark.skip(f"{missing} is not installed"))
    function = inspect.unwrap(item.function)  # type: ignore[attr-defined]
    imported = (
        _imported_by_module(item.path)
        | _imported_by_module(item.path.with_name("conftest.py"))
        | set(IMPORTED.findall(inspect.getsource(function)))
    )
    needed = {extra_of(package) for package in marked | imported}
    if needed - {"test"}:
        item.add_marker(pytest.mark.extra)
    if "others" in needed:
        item.add_marker(pytest.mark.slow)


@cache
def _imported_by_module(path: Path) -> set[str]:
    lines = path.read_text().splitlines() if path.exists() else []
    return {name for line in lines if not line.startswith(" ") for name in IMPORTED.findall(line)}


def named(report: Any, item: pytest.Item | None = None) -> Any:
    """The report, in which a skip for a missing package says which extra installs it.

    A test that is skipped without the mark fails: no run would ever have it.
    """
    if not report.skipped or not isinstance(report.longrepr, tuple):
        return report
    path, line, reason = report.longrepr
    if found := NOT_INSTALLED.search(reason):
        package = found.group(1) or found.group(2)
        report.longrepr = (path, line, f"{package} is not installed: pip install -e '.[{extra_of(package)}]'")
        if item is not None and not any(map(item.get_closest_marker, ("extra", "ray", "browser", "real"))):
            report.outcome, report.longrepr = "failed", f'mark the test: @pytest.mark.extra("{package}")'
    return report
