"""`make docs`: the whole site is built without a warning, and shows itself without a network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What a browser loads by itself; links that a reader may follow are <a>.
LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"(?:https?:)?//[^\"]*|<link\b[^>]*href=\"(?:https?:)?//[^\"]*"
)


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_a_network(tmp_path: Path) -> None:
    pytest.importorskip("myst_nb")
    pytest.importorskip("pydata_sphinx_theme")
    options = [
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "-d",
        str(tmp_path / "doctrees"),
        "docs",
        str(tmp_path / "site"),
    ]
    done = subprocess.run([sys.executable, "-m", "sphinx", *options], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {path: path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.html")}
    assert {path.name: found for path, text in pages.items() if (found := LOADED.findall(text))} == {}
    found = (tmp_path / "site" / "searchindex.js").read_text("utf-8")
    assert "actordiederror" in found.lower() and "jupyterhub" in found.lower()
