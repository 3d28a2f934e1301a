"""Progress bars inside tasks: how far a task is shows in the cockpit and in `nbaccel top`, without a line of output.

>>> @nbaccel.remote
... def work(items):
...     for item in tqdm_ray.tqdm(items, desc="items"):
...         process(item)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from nbaccel import engine as engines


class tqdm:
    """A bar over an iterable, or over `total` steps told with `update`. In a driver it is tqdm's, where installed."""

    DEFAULT_FLUSH_INTERVAL_SECONDS = 0.1

    def __init__(
        self,
        iterable: Iterable[Any] | None = None,
        desc: str | None = None,
        total: int | None = None,
        unit: str | None = None,
        position: int | None = None,
        flush_interval_s: float | None = None,
    ) -> None:
        if total is None and iterable is not None:
            try:
                total = len(iterable)  # type: ignore[arg-type]
            except TypeError:
                total = None
        self._iterable = iterable
        self._desc = desc or ""
        self._total = total
        self._n = 0
        self._unit = unit or "it"
        self._interval_s = self.DEFAULT_FLUSH_INTERVAL_SECONDS if flush_interval_s is None else flush_interval_s
        self._flushed_at = 0.0
        self._closed = False
        self._bar = _drivers_bar(total, self._desc, self._unit, position)

    @property
    def n(self) -> int:
        """Steps done; the next update() or refresh() shows a number that was set."""
        return self._n

    @n.setter
    def n(self, steps: int) -> None:
        self._n = steps
        if self._bar is not None:
            self._bar.n = steps

    @property
    def total(self) -> int | None:
        """Steps that there are to do; None where that is not known."""
        return self._total

    @total.setter
    def total(self, steps: int | None) -> None:
        self._total = steps
        if self._bar is not None:
            self._bar.total = steps

    def set_description(self, desc: str) -> None:
        self._desc = desc
        if self._bar is not None:
            self._bar.set_description(desc)

    def update(self, n: int = 1) -> None:
        """So many more steps are done."""
        self._n += n
        if self._bar is not None:
            self._bar.update(n)
        self._tell()

    def refresh(self) -> None:
        """Show how far it is now."""
        if self._bar is not None:
            self._bar.refresh()
        self._tell(now=True)

    def close(self) -> None:
        """The bar has moved for the last time."""
        if self._closed:
            return
        self._closed = True
        self._tell(now=True)
        if self._bar is not None:
            self._bar.close()

    def _tell(self, *, now: bool = False) -> None:
        """Report to the head, not more often than a person can see."""
        at = time.monotonic()
        if not now and at - self._flushed_at < self._interval_s:
            return
        self._flushed_at = at
        report = getattr(engines.started(), "report_progress", None)
        if report is not None:
            report(self._n, self._total or 0)

    def __iter__(self) -> Iterator[Any]:
        if self._iterable is None:
            raise ValueError("There is nothing to iterate over: tqdm() was given no iterable.")
        try:
            for item in self._iterable:
                yield item
                self.update()
        finally:
            self.close()

    def __enter__(self) -> tqdm:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _drivers_bar(total: int | None, desc: str, unit: str, position: int | None) -> Any:
    """tqdm's bar, for code that runs in a driver; None in a task, or without tqdm."""
    engine = engines.started()
    if engine is not None and engine.context().is_worker:
        return None
    try:
        from tqdm.auto import tqdm as bar
    except ImportError:
        return None
    return bar(total=total, desc=desc or None, unit=unit, position=position)


def safe_print(*args: Any, **kwargs: Any) -> None:
    """print(), which here never tears a bar."""
    sep, end = kwargs.pop("sep", " "), kwargs.pop("end", "\n")
    (kwargs.pop("file", None) or sys.stdout).write(sep.join(map(str, args)) + end)
