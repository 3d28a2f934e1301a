"""Installs the CUDA stand-in as soon as a process imports torch. Processes that need no torch do not load it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def install() -> None:
    """A worker's setup hook."""
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds torch once, as the finders after it do, and adds the stand-in to it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                importlib.import_module("tests.train.cuda_stand_in")

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
