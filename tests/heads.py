"""A head for a test module, in a place of its own, with nothing left at the end."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec

import nbaccel
from nbaccel import engine as engines
from nbaccel.views.snapshot import ActorRow, Alert, ListedObject, TaskRow, WorkerRow
from tests.census import Place
from tests.rig import wait_until

KINDS = {"actors": ActorRow, "events": Alert, "objects": ListedObject, "tasks": TaskRow, "workers": WorkerRow}


@contextmanager
def inside(place: Place) -> Iterator[Place]:
    """This process's heads start in the place, and nothing of them may be left."""
    with ExitStack() as at_last:
        at_last.callback(place.clear)
        with ExitStack() as at_the_end:
            at_the_end.callback(_set_back, dict(os.environ), tempfile.tempdir)
            environ = place.environ  # made from this process's own
            os.environ.clear()
            os.environ.update(environ)
            tempfile.tempdir = str(place.root / "tmp")
            at_the_end.callback(nbaccel.shutdown)
            yield place
        place.assert_nothing_left()


def _set_back(variables: dict[str, str], directory: str | None) -> None:
    os.environ.clear()
    os.environ.update(variables)
    tempfile.tempdir = directory


def rows(what: str) -> list[dict[str, Any]]:
    """What the head has written down of its objects, tasks, workers, …"""
    return [msgspec.to_builtins(row) for row in engines.current().state(KINDS[what], 10_000)]


def assert_idle() -> None:
    """The head holds nothing any more: no object, no running task, no resource."""

    def no_object_is_left() -> bool:
        gc.collect()  # an error's cycle may hold a ref, and a thread that ends now may hold the error
        return not rows("objects")

    wait_until(no_object_is_left, "the last object to go")
    wait_until(lambda: not any(row["state"] == "RUNNING" for row in rows("tasks")), "the tasks' end")
    wait_until(lambda: nbaccel.available_resources() == nbaccel.cluster_resources(), "all resources to be free")
