"""What these tests share: a head of the module's own, in a place of its own, with nothing left at the end."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import nbaccel
from nbaccel import engine as engines
from tests.census import Place, wait_until


@contextmanager
def inside(place: Place) -> Iterator[Place]:
    """This process's heads start in the place, and nothing of them may be left."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(place.environ)
    directory, tempfile.tempdir = tempfile.tempdir, str(place.root / "tmp")
    try:
        yield place
    finally:
        nbaccel.shutdown()
        os.environ.clear()
        os.environ.update(before)
        tempfile.tempdir = directory
    place.assert_nothing_left()
    place.clear()


@pytest.fixture
def place() -> Iterator[Place]:
    """For programs that a test runs."""
    place = Place()
    yield place
    place.assert_nothing_left()
    place.clear()


@pytest.fixture
def own_head() -> Iterator[Place]:
    """For a test that calls init() itself."""
    with inside(Place()) as place:
        yield place


@pytest.fixture(scope="module")
def head() -> Iterator[Place]:
    """A head for the whole module: two CPUs, two GPUs, a store of 64 MiB."""
    with inside(Place()) as place:
        nbaccel.init(num_cpus=2, num_gpus=2, object_store_memory=64 << 20)
        yield place


def rows(what: str) -> list[dict[str, Any]]:
    """What the head has written down of its objects, tasks, workers, …"""
    engine: Any = engines.running()
    return list(engine.link.ask("state", [what, 10_000]))


@pytest.fixture
def cluster(head: Place) -> Iterator[Place]:
    """The module's head; at the end of the test it holds nothing for it any more."""
    yield head
    gc.collect()
    wait_until(lambda: not rows("objects"), "the last object to go", 10)
    wait_until(lambda: not any(row["state"] == "RUNNING" for row in rows("tasks")), "the tasks' end", 10)
    wait_until(lambda: nbaccel.available_resources() == nbaccel.cluster_resources(), "all resources to be free", 10)
