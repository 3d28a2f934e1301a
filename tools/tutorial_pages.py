"""The tutorials as pages of the site: copies of notebooks/, with links that fit their new place."""

from __future__ import annotations

import json
import re
from pathlib import Path

# Links of pages in docs/ to what the site does not have.
_BESIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./(?:examples|benchmarks|README\.md)|\.\./\.\./)[^)]*\)")


def write(notebooks: Path, folder: Path) -> None:
    """Copy each notebook into `folder`; notebooks that are gone are removed there."""
    paths = {path.name: path for path in notebooks.glob("*.ipynb")}
    for old in folder.glob("*.ipynb"):
        if old.name not in paths:
            old.unlink()
    for name, path in paths.items():
        notebook = json.loads(path.read_text("utf-8").replace("](../docs/", "](../"))
        notebook["metadata"].setdefault("language_info", {"name": "python"})["pygments_lexer"] = "ipython3"
        text = json.dumps(notebook)
        copy = folder / name
        if not copy.exists() or copy.read_text("utf-8") != text:  # Sphinx reads only what has changed
            copy.write_text(text, "utf-8")


def with_links_of_the_site(page: str) -> str:
    """A page of docs/, whose links to notebooks lead to the tutorials; those to other folders are words."""
    return _BESIDE.sub(
        r"\1", page.replace("](../notebooks/", "](tutorials/").replace("](decisions)", "](decisions/README.md)")
    )
