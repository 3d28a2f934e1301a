"""Tables of docs/ that say which of Ray's names are here: what they list, and what a program gets by such a name."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"


def documented(page: str, title: str, column: str) -> list[str]:
    """The names in the table below this title of a page, whose second column has this heading."""
    table = (DOCS / page).read_text().partition(f"## {title}\n")[2].partition(f"| {column} |\n")[2].partition("\n\n")[0]
    return [name for line in table.splitlines() for name in re.findall(r"`([^`]+)`", line.split("|")[2])]


def found(package: ModuleType, name: str) -> Any:
    """What a program gets of a package by a name with dots."""
    value: Any = package
    for part in name.split("."):
        value = getattr(value, part) if hasattr(value, part) else importlib.import_module(f"{value.__name__}.{part}")
    return value


def is_refused(value: Any) -> bool:
    """Whether it only says what to use instead."""
    return type(value).__name__ in ("_Absent", "_Unbuilt")
