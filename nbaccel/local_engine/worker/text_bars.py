"""tqdm.notebook in a worker: bars of text, since a widget needs the notebook's own process and would stand at 0 %."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

_NAME = "tqdm.notebook"


def use() -> None:
    """Have this process import its own `tqdm.notebook` from now on."""
    sys.meta_path.insert(0, _TextBars())
    if _NAME in sys.modules:  # what was preloaded may have it
        _TextBars().exec_module(sys.modules[_NAME])


class _TextBars(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name == _NAME else None

    def exec_module(self, module: ModuleType) -> None:
        std = importlib.import_module("tqdm.std")

        def construct(made: Any, *args: Any, display: bool = True, **kwargs: Any) -> None:
            std.tqdm.__init__(made, *args, **kwargs)  # only the widget knows `display`

        def trange(*args: Any, **kwargs: Any) -> Any:
            return bar(range(*args), **kwargs)

        bar = type("tqdm_notebook", (std.tqdm,), {"__module__": _NAME, "__init__": construct})
        vars(module).update(tqdm=bar, tqdm_notebook=bar, trange=trange, tnrange=trange)
