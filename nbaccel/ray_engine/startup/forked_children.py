"""Children that the driver's process forks: there, Ray's handlers would end the Ray of the parent.

Ray ends the processes that it has started at the interpreter's end and at SIGTERM, which `multiprocessing.Pool` sends
to its children. A fork inherits both handlers.
"""

from __future__ import annotations

import atexit
import signal
from typing import Any

from nbaccel import engine as engines
from nbaccel.ray_engine.border.internals import internals


def disown(kind: type) -> None:
    """In a forked child: an engine of this class is the parent's, and so is Ray."""
    engine: Any = engines.started()
    if isinstance(engine, kind):
        _take_off_handlers()
    engines.disown(kind)


def _take_off_handlers() -> None:
    worker = internals.worker
    atexit.unregister(worker.shutdown)
    if worker._global_node is not None:
        worker._global_node.kill_all_processes = _end_nothing
    if str(getattr(signal.getsignal(signal.SIGTERM), "__module__", "")).startswith("ray."):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end_nothing(*_args: object, **_keywords: object) -> None:
    """In place of what ends Ray's processes: its handler at the interpreter's end is registered without a name."""
