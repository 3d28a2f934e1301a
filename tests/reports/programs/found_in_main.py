"""In a task, pickle, a forked Pool and joblib found neither class nor function of the notebook, nor its source."""

# needs: numpy
# %%
import functools
import inspect
import io
import multiprocessing
import pickle
import traceback
import warnings
from dataclasses import dataclass

import nbaccel as ray

ray.init(num_cpus=2)


# %%
@dataclass(slots=True)
class Conf:
    x: int


@dataclass(slots=True, frozen=True)
class Frozen:
    x: int


class Slotted:
    __slots__ = ("__hidden", "__weakref__", "a")

    def hide(self, value: int) -> None:
        self.__hidden = value

    def hidden(self) -> int:
        return self.__hidden


class Below(Slotted):
    __slots__ = {"b": "with its documentation"}


class Open(Slotted):
    pass


@ray.remote
def slotted(given: Conf) -> tuple:
    below, opened = Below(), Open()
    below.a, below.b, opened.a, opened.other = 1, 2, 3, 4
    below.hide(5)
    return Conf(given.x + 1), Frozen(2), below, opened


conf, frozen, below, opened = ray.get(slotted.remote(Conf(1)))
assert conf == Conf(2) and frozen == Frozen(2), (conf, frozen)
assert not hasattr(conf, "__dict__") and type(below) is Below
assert (below.a, below.b, below.hidden(), opened.a, opened.other) == (1, 2, 5, 3, 4)


# %%
class Net:
    def rate(self) -> int:
        return 3


def double(x: int) -> int:
    return 2 * x


@functools.cache
def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def logged(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)

    return inner


@logged
def countdown(n: int) -> int:
    return countdown(n - 1) if n else 0


def comes_back(thing: object) -> bool:
    return pickle.loads(pickle.dumps(thing)) is thing


# %%
@ray.remote
def saves() -> list[int]:
    assert all(comes_back(thing) for thing in (Net, double, fibonacci, countdown))
    assert pickle.loads(pickle.dumps(Net())).rate() == 3
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return [*pool.map(double, [1, 2]), fibonacci(10), countdown(2)]


@ray.remote
def doubles() -> bool:
    return comes_back(double)


for _ in range(2):  # two functions in one worker, each with a `double` of its own
    assert ray.get(saves.remote()) == [2, 4, 55, 0]
    assert ray.get(doubles.remote())


# %%
@ray.remote
class Keeper:
    def save(self, function, thing: object) -> bytes:
        assert comes_back(Net) and comes_back(function) and comes_back(type(thing))
        return pickle.dumps(thing)


keeper = Keeper.remote()
assert pickle.loads(ray.get(keeper.save.remote(double, Net()))).rate() == 3


# %%
def fails() -> None:
    raise KeyError("lost")  # the line of a cell


@ray.remote
def looks() -> list[str]:
    try:
        fails()
    except KeyError:
        shown = traceback.format_exc()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("about this line", stacklevel=1)
    return [inspect.getsource(double), shown, warnings.formatwarning(*_parts(caught[0]))]


def _parts(caught) -> tuple:
    return caught.message, caught.category, caught.filename, caught.lineno


source, shown, warned = ray.get(looks.remote())
assert source.startswith("def double(x: int)") and "return 2 * x" in source, source
assert 'raise KeyError("lost")  # the line of a cell' in shown, shown
assert 'warnings.warn("about this line", stacklevel=1)' in warned, warned


# %%
@ray.remote
def debugs() -> str:
    """What pdb lists, in the task and in one that the task submits."""
    import pdb

    @ray.remote
    def below() -> str:
        return inspect.getsource(double)

    assert ray.get(below.remote()) == inspect.getsource(double)
    output = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("source double\nquit\n"), stdout=output)
    debugger.use_rawinput = False
    try:
        debugger.runcall(double, 1)
    except Exception:  # pdb's own way to quit
        pass
    return output.getvalue()


assert "return 2 * x" in ray.get(debugs.remote())


# %% in the body of a cell magic, which has a shell of its own
BODY = """
class InBody:
    pass

def twice(number):
    return double(number)

with multiprocessing.get_context("fork").Pool(1) as pool:
    doubled = pool.map(twice, [1, 2])
kept = [type(pickle.loads(pickle.dumps(each))).__name__ for each in (Conf(1), InBody())], inspect.getsource(twice)
"""


@ray.remote
def pickles():
    return len(pickle.dumps(Conf(1)))


if "get_ipython" in globals():
    shell = get_ipython()  # noqa: F821
    shell.run_line_magic("load_ext", "nbaccel")
    for _ in range(2):
        shell.run_cell_magic("accel", "-o out", BODY)
        assert out.doubled == [2, 4] and out.kept[0] == ["Conf", "InBody"], out  # noqa: F821
        assert "return double(number)" in out.kept[1], out  # noqa: F821
    assert ray.get([pickles.remote() for _ in range(8)])[0]
