"""A progress bar for many refs. A thread of the engine moves it, so it moves while the cell waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from nbaccel import engine
from nbaccel.views import sinks

T = TypeVar("T")


class TqdmBar(Protocol):
    """The methods of a tqdm bar that nbaccel uses."""

    def update(self, n: float = 1) -> Any: ...
    def close(self) -> Any: ...


def progress(refs: Iterable[T], description: str = "") -> list[T]:
    """Show how many of the refs are ready, until all are. Returns the refs.

    >>> nbaccel.get(nbaccel.progress([nbaccel.put(x) for x in range(3)]))
    [0, 1, 2]

    A notebook shows the bar as HTML, and a saved notebook keeps its last state. Elsewhere tqdm draws the bar; without
    tqdm this raises an ImportError that says what to install.
    """
    listed = list(refs)
    follow(listed, sinks.installed.bar(len(listed), description), engine.current().call_when_ready)
    return listed


def follow(refs: list[Any], bar: TqdmBar, call_when_ready: Callable[[Any, Callable[[], None]], None]) -> None:
    """Move the bar by one for each ref that becomes ready, and close it after the last."""
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
