"""Ray's libraries that nbaccel does not have: their modules import, and their names say where they are when used.

A package that imports `ray.data` at its top, for a feature that its user may never ask for, opens here as well:

>>> from nbaccel.data import Dataset            # a class of which nothing is an instance
>>> def rows(source: Dataset | list) -> list:   # annotations and isinstance() work
...     return source.take_all() if isinstance(source, Dataset) else source
>>> nbaccel.data.range(10)
Traceback (most recent call last):
ModuleNotFoundError: nbaccel has no data.range: ...

Python asks this finder last: a module of nbaccel's own of the same name is found first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import GenericAlias, ModuleType
from typing import Any, NoReturn

# The modules beside nbaccel's own; the row of a library that nbaccel has is taken out.
LIBRARIES = {
    "air": "Ray AIR",
    "data": "Ray Data",
    "job_submission": "the job submission client",
    "rllib": "RLlib",
    "serve": "Ray Serve",
    "train": "Ray Train",
    "tune": "Ray Tune",
    "workflow": "Ray Workflow",
}


def install() -> None:
    """Let the modules of LIBRARIES be imported. Safe to call twice."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


class _Finder(MetaPathFinder):
    """Finds `nbaccel.data` and all modules below it, whatever their names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, inside = fullname.partition(".")
        if package != __package__ or inside.partition(".")[0] not in LIBRARIES:
            return None
        return ModuleSpec(fullname, _Loader(), is_package=True)


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name, f"Where Ray has {_library(spec.name)}: its names import, and refuse when used.")

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing in it."""


class _Module(ModuleType):
    """A module in which every public name is a class that refuses."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked by Python itself, by notebooks and by debuggers
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        made = _Absent(name, (), {"__module__": self.__name__, "__qualname__": name})
        setattr(self, name, made)  # the same class each time, so that it can be pickled by its name
        return made


class _Absent(type):
    """The class of such names: they stand in annotations, in isinstance() and as bases; to use one is an error."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise ModuleNotFoundError(_words(_origin(cls)), name=_origin(cls).__module__)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        raise AttributeError(_words(_origin(cls)))

    def __getitem__(cls, item: Any) -> GenericAlias:
        return GenericAlias(cls, item)


def _origin(cls: type) -> type:
    """The name that is not here: the class itself, or the base of a class that a program derived from it."""
    return next(
        base
        for base in cls.__mro__
        if isinstance(base, _Absent) and isinstance(sys.modules.get(base.__module__), _Module)
    )


def _library(path: str) -> str:
    return LIBRARIES[path.split(".")[1]]


def _words(absent: type) -> str:
    path = f"{absent.__module__}.{absent.__qualname__}".partition(".")[2]
    module = absent.__module__.partition(".")[2]
    return (
        f"nbaccel has no {path}: it has the names of Ray Core, and {_library(absent.__module__)} is not a part of "
        f"that. On a Ray cluster you have both: nbaccel.init(engine='ray'), then `import ray.{module}` beside nbaccel."
    )
