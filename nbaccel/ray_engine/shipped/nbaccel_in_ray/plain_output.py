"""Output of a worker as the local engine has it: text bars for tqdm.notebook, and loggers as those of the driver.

The local engine has the same in worker/text_bars.py and logging_config.py.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

from nbaccel_in_ray import internals

LEVELS = "NBACCEL_LOG_LEVELS"  # the variable: JSON, the levels at init() by the names of loggers
_NAME = "tqdm.notebook"


def use() -> None:
    """In a worker."""
    if not internals.is_worker():
        return
    sys.meta_path.insert(0, _TextBars())
    levels = json.loads(os.environ.get(LEVELS, "{}"))
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    if levels and logging.lastResort is not None:
        logging.lastResort.setLevel(logging.NOTSET)
        logging.lastResort.setFormatter(logging.Formatter(logging.BASIC_FORMAT))


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
