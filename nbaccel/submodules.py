"""Submodules that, as in Ray, can be reached as attributes without an import; each is imported at its first use."""

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
