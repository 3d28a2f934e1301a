"""Tasks and actors that pass objects around. Workers import this module: it needs no test library."""

from __future__ import annotations

from typing import Any

import nbaccel


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
