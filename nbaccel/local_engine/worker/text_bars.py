"""tqdm.notebook in a worker: bars of text, since a widget needs the notebook's own process and would stand at 0 %."""

from __future__ import annotations

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
        from tqdm.std import tqdm

        class tqdm_notebook(tqdm):  # type: ignore[misc]
            """tqdm's bar, with the keyword that only the widget has."""

            def __init__(self, *args: Any, display: bool = True, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)

        def trange(*args: Any, **kwargs: Any) -> tqdm_notebook:
            return tqdm_notebook(range(*args), **kwargs)

        tqdm_notebook.__module__, tqdm_notebook.__qualname__ = _NAME, "tqdm_notebook"
        vars(module).update(tqdm=tqdm_notebook, tqdm_notebook=tqdm_notebook, trange=trange, tnrange=trange)
