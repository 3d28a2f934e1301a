"""Imports what the engine needs beside Ray while Ray's processes start: the main thread then mostly waits.

On a quiet machine these imports take a tenth of a second, on a busy one seconds.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# None of them imports Ray: while Ray starts, it imports modules of its own, and two threads would wait for each other.
WITHOUT_RAY = (
    "nbaccel.accelerators",
    "nbaccel.handles.internal_work",
    "nbaccel.handles.unpicklable",
    "nbaccel.scheduling.explain",
    "nbaccel.views.driver_door",
    "nbaccel.views.expected_growth",
    "nbaccel.views.history.book",
    "nbaccel.views.history.task_log",
    "nbaccel.views.listed",
    "nbaccel.views.record_book",
    "nbaccel.views.expected_growth",
    "nbaccel.views.trace_events",
    "nbaccel.views.unused_devices",
)


@contextmanager
def meanwhile() -> Iterator[None]:
    """Import beside what is done inside, and wait for the end of both."""
    thread = threading.Thread(target=_import_all, name="nbaccel-imports", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _import_all() -> None:
    with suppress(ImportError):  # whoever needs the module gets the error
        for name in WITHOUT_RAY:
            importlib.import_module(name)
