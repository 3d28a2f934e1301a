"""Stands before the installed package of this name, which compiles its grammar (1.7 s) whenever it is imported.

jsonschema imports it for one function, which hardly anybody calls; Ray imports jsonschema in every process. The package
is loaded when anything of it is used, and takes this module's place. Where it is not installed, this is not either.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _find() -> importlib.machinery.ModuleSpec:
    others = [each for each in sys.path if os.path.abspath(each or os.curdir) != _FOLDER]
    found = importlib.machinery.PathFinder.find_spec(__name__, others)
    if found is None or found.loader is None:
        raise ModuleNotFoundError(f"No module named {__name__!r}", name=__name__)
    return found


__path__ = list(_find().submodule_search_locations or ())


def _installed() -> ModuleType:
    """The package itself, loaded once."""
    loaded = sys.modules.get(__name__)
    if loaded is not None and getattr(loaded, "_installed", None) is None:
        return loaded
    spec = _find()
    package = sys.modules[__name__] = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    try:
        spec.loader.exec_module(package)
    except BaseException:
        del sys.modules[__name__]
        raise
    return package


def is_valid_syntax(*args: Any, **kwargs: Any) -> Any:
    return _installed().is_valid_syntax(*args, **kwargs)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [each for each in vars(_installed()) if not each.startswith("_")]
    if name.startswith("__"):  # asked of every module by those who look around
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_installed(), name)
