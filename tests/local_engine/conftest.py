"""A head for each module of the local engine's tests, and a place for programs that they run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import nbaccel
from tests.census import Place
from tests.heads import assert_idle, inside


@pytest.fixture(scope="module")
def head() -> Iterator[Place]:
    """A head for the whole module: two CPUs, two GPUs, a store of 64 MiB."""
    with inside(Place()) as place:
        nbaccel.init(num_cpus=2, num_gpus=2, object_store_memory=64 << 20)
        yield place


@pytest.fixture
def cluster(head: Place) -> Iterator[Place]:
    """The module's head; at the end of the test it holds nothing for it any more."""
    yield head
    assert_idle()
