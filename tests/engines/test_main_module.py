"""What lives in the user's `__main__` works in tasks as in the notebook: by its name, with its slots and its source."""

from __future__ import annotations

import linecache
import sys
from types import ModuleType
from typing import Any

import pytest

CELL = """
import functools, inspect, pickle, traceback
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

@dataclass(slots=True)
class Conf:
    x: int

class Point(NamedTuple):
    x: int = 1

class Pair(NamedTuple, Generic[T]):
    first: T
    second: Point

class Narrow(Generic[T]):
    __slots__ = ("x",)

def local_class():
    class Local:
        __slots__ = ("__hidden", "__weakref__", "seen")
        def __init__(self, value):
            self.__hidden = self.seen = value
        def hidden(self):
            return self.__hidden
    return Local

class Net:
    pass

def double(x):
    return 2 * x

@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

def comes_back(thing):
    return pickle.loads(pickle.dumps(thing)) is thing

def find(function, conf):
    return [comes_back(thing) for thing in (Net, double, fibonacci, function)], fibonacci(10), Conf(conf.x + 1)

def other():
    return comes_back(double)

def show():
    try:
        double(None)
    except TypeError:
        return inspect.getsource(double), traceback.format_exc()

def given(x):
    return x

def made(pair):
    narrow = Narrow()
    narrow.x = pair.first
    return Pair(narrow, Point())
"""


@pytest.fixture(scope="module")
def main() -> Any:
    """Functions and classes as a cell has them."""
    name = "<a cell of test_main_module>"
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(CELL, name, "exec"), names)
    made = ModuleType("made")
    own = {key: thing for key, thing in names.items() if getattr(thing, "__module__", "") == "__main__"}
    vars(made).update(own)
    with pytest.MonkeyPatch.context() as patch:
        for key, thing in own.items():
            patch.setattr(sys.modules["__main__"], key, thing, raising=False)
        yield made
    del linecache.cache[name]


def test_a_task_finds_classes_and_functions_by_name_and_returns_slotted_objects(nb: ModuleType, main: Any) -> None:
    find, other = nb.remote(main.find), nb.remote(main.other)
    for _ in range(2):  # functions that reach the same names, in the same worker
        found, number, conf = nb.get(find.remote(main.given, main.Conf(1)))
        assert found == [True] * 4
        assert (number, conf) == (55, main.Conf(2))
        assert nb.get(other.remote())


def test_named_tuples_and_generic_classes_with_slots_travel(nb: ModuleType, main: Any) -> None:
    back = nb.get(nb.remote(main.made).remote(main.Pair(7, main.Point(2))))
    assert (type(back), back.second, back.second.x) == (main.Pair, main.Point(1), 1)
    assert (type(back.first), back.first.x, hasattr(back.first, "__dict__")) == (main.Narrow, 7, False)


def test_an_object_of_a_local_class_with_slots_comes_back(nb: ModuleType, main: Any) -> None:
    made = main.local_class()
    made.__module__ = "a module of its own"  # by value also where it is not in `__main__`
    back = nb.get(nb.remote(lambda: made(3)).remote())
    assert (type(back), back.seen, back.hidden()) == (made, 3, 3)
    assert not hasattr(back, "__dict__")


def test_a_task_has_the_source_of_its_cell(nb: ModuleType, main: Any) -> None:
    source, shown = nb.get(nb.remote(main.show).remote())
    assert source == "def double(x):\n    return 2 * x\n"
    assert "    return 2 * x\n" in shown
