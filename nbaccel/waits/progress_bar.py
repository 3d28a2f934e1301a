"""A bar over many refs that moves while the cell blocks: the engine's thread moves it, not the cell."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from nbaccel import engine
from nbaccel.views import sinks


class TqdmBar(Protocol):
    """What is needed of a tqdm bar."""

    def update(self, n: float = 1) -> Any: ...
    def close(self) -> Any: ...


def progress(refs: Iterable[Any], description: str = "") -> list[Any]:
    """Shows how many of the refs are ready until all are; gives them back, so that it fits around them.

    Example::

        results = nbaccel.get(progress([train.remote(x) for x in batches]))

    A notebook shows the bar as HTML, which a saved file keeps as it was last; elsewhere tqdm draws it, and without tqdm
    this raises ImportError, with what to install.
    """
    listed = list(refs)
    follow(listed, sinks.installed.bar(len(listed), description), engine.current().call_when_ready)
    return listed


def follow(refs: list[Any], bar: TqdmBar, call_when_ready: Callable[[Any, Callable[[], None]], None]) -> None:
    """Moves the bar by one for each ref that becomes ready, and closes it after the last."""
    lock = threading.Lock()
    left = len(refs)

    def ready() -> None:
        nonlocal left
        with lock:
            left -= 1
            bar.update(1)
            if left == 0:
                bar.close()

    if not refs:
        bar.close()
    for ref in refs:
        call_when_ready(ref, ready)
