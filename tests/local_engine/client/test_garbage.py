"""A filling store makes all processes let go of refs that only cycles hold."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import nbaccel
from tests.census import Place
from tests.rig import wait_until

TENTH = 6_000_000  # of the store


@pytest.fixture(autouse=True)
def no_looks() -> Iterator[None]:
    """Python itself does not look here meanwhile."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    gc.collect()


class Knot:
    """Holds itself, and a ref to a large object."""

    def __init__(self, size_bytes: int) -> None:
        self.me = self
        self.ref = nbaccel.put(numpy.zeros(size_bytes, numpy.uint8))
        self.value: Any = None


@nbaccel.remote
class Tangler:
    """A worker that makes knots and looks at none."""

    def __init__(self) -> None:
        gc.disable()
        self.knots: list[weakref.ref[Knot]] = []

    def tie(self, size_bytes: int) -> None:
        self.knots.append(weakref.ref(Knot(size_bytes)))

    def living(self) -> int:
        return sum(knot() is not None for knot in self.knots)


def test_cycles_of_the_driver_and_of_workers_are_let_go_when_the_store_fills(cluster: Place) -> None:
    tangler = Tangler.remote()
    nbaccel.get(tangler.tie.remote(TENTH))
    knots = [weakref.ref(Knot(TENTH)) for _ in range(2)]
    assert nbaccel.get(tangler.living.remote()) == 1
    assert all(knot() is not None for knot in knots)
    ref = nbaccel.put(bytes(5 * TENTH))
    wait_until(lambda: all(knot() is None for knot in knots), "the driver's cycles to go")
    wait_until(lambda: nbaccel.get(tangler.living.remote()) == 0, "the worker's cycles to go")
    del ref
    nbaccel.kill(tangler)


def test_room_that_only_cycles_use_is_given_to_who_asks_for_it(cluster: Place) -> None:
    for _ in range(4):
        knot = Knot(8 * TENTH)
        knot.value = nbaccel.get(knot.ref)  # a view of the store: while it lives, the object cannot go to disk
        del knot
    gc.collect()
