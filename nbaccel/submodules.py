"""Submodules that are there by attribute without an import of their own, as in Ray, and cost nothing until then."""

import importlib
from collections.abc import Callable
from typing import Any

from nbaccel import elsewhere


def by_attribute(package: str, *names: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `nbaccel.autoscaler.sdk` after `import nbaccel`."""

    def load(name: str) -> Any:
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        raise elsewhere.no_attribute(package, name)

    return load
