"""tqdm.notebook in a worker: bars of text, since a widget needs the notebook's own process and would stand at 0 %."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_NAME = "tqdm.notebook"


def use() -> None:
    """Have this process import its own `tqdm.notebook` from now on."""
    sys.meta_path.insert(0, _TextBars())
    if _NAME in sys.modules:  # what was preloaded may have it
        _TextBars().exec_module(sys.modules[_NAME])


class _TextBars:
    """A finder and loader without a base: importing importlib.abc takes longer than all that this does."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == _NAME else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Have Python make an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        std = importlib.import_module("tqdm.std")

        def construct(made: Any, *args: Any, display: bool = True, **kwargs: Any) -> None:
            std.tqdm.__init__(made, *args, **kwargs)  # only the widget knows `display`

        def trange(*args: Any, **kwargs: Any) -> Any:
            return bar(range(*args), **kwargs)

        bar = type("tqdm_notebook", (std.tqdm,), {"__module__": _NAME, "__init__": construct})
        vars(module).update(tqdm=bar, tqdm_notebook=bar, trange=trange, tnrange=trange)
