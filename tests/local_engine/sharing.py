"""Tasks and actors that pass objects around. Workers import this module: it needs no test library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import nbaccel
from nbaccel import engine as engines


@nbaccel.remote
def same(value: Any) -> Any:
    return value


@nbaccel.remote
def put_in_list(count: int) -> list[Any]:
    return [nbaccel.put(i) for i in range(count)]


@nbaccel.remote
def total(array: Any) -> int:
    return int(array.sum())


@nbaccel.remote
def first(array: Any) -> int:
    return int(array[0])


@nbaccel.remote
def firsts(*arrays: Any) -> list[int]:
    return [int(array[0]) for array in arrays]


@nbaccel.remote
def double(array: Any) -> Any:
    return array * 2


@nbaccel.remote
def zeros(size: int) -> Any:
    import numpy

    return numpy.zeros(size, dtype=numpy.uint8)


@nbaccel.remote
def sum_of_list(refs: list[Any]) -> int:
    return int(sum(nbaccel.get(refs)))


@nbaccel.remote
def sum_of_all(*values: int) -> int:
    return sum(values)


@nbaccel.remote
def pass_down(refs: list[Any], times: int) -> Any:
    """Hand the ref to a task of our own, so many times."""
    if times:
        return nbaccel.get(pass_down.remote(refs, times - 1))
    return nbaccel.get(refs[0]), refs[0].hex()


@nbaccel.remote
def depth(levels: int) -> int:
    return 0 if levels == 0 else 1 + nbaccel.get(depth.remote(levels - 1))


@nbaccel.remote
class Keeper:
    """Keeps refs and values."""

    def __init__(self) -> None:
        self.kept: Any = None
        self.seen: list[int] = []

    def keep(self, refs: list[Any]) -> None:
        self.kept = refs

    def keep_value(self, value: Any) -> None:
        self.kept = value

    def value(self) -> Any:
        return nbaccel.get(self.kept[0])

    def sum(self) -> int:
        return int(self.kept.sum())

    def drop(self) -> None:
        self.kept = None

    def echo(self, value: Any) -> Any:
        return value

    def note(self, value: Any) -> None:
        self.seen.append(value if isinstance(value, int) else int(value[0]))

    def notes(self) -> list[int]:
        return self.seen


class SaysWhatIsGone:
    """When it goes, the head hears of every ref that has gone before it."""

    def __reduce__(self) -> Any:
        return int, ()

    def __del__(self) -> None:
        started: Any = engines.started()
        started.link.flush()


class HoldsRefs(Exception):
    """An error that refers to objects."""


@nbaccel.remote(num_cpus=0)
def wait_at(gate: Any) -> str:
    nbaccel.get(gate.wait.remote())
    return "done"


def child_of(gate: Any) -> list[Any]:
    """A ref whose last holder here is this list; it goes before what says so, since lists end from behind."""
    return [SaysWhatIsGone(), wait_at.remote(gate)]


@nbaccel.remote(num_cpus=0)
def return_child(gate: Any) -> list[Any]:
    return child_of(gate)


@nbaccel.remote(num_cpus=0, num_returns=2)
def yield_child(gate: Any) -> Iterator[Any]:
    yield child_of(gate)
    yield None


@nbaccel.remote(num_cpus=0, max_retries=0)
def raise_child(gate: Any) -> None:
    raise HoldsRefs(*child_of(gate))


@nbaccel.remote(num_cpus=0)
class Parent:
    async def child(self, gate: Any) -> list[Any]:
        return child_of(gate)
