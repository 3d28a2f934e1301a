"""Names of Ray Train's that nbaccel does not have: they import, and say what to write instead when they are used."""

from __future__ import annotations

from typing import Any, NoReturn

from nbaccel import elsewhere


class _Refusing(type):
    """The class of such a name, which may stand in annotations and in isinstance()."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(cls.__doc__)

    def __getattr__(cls, name: str) -> NoReturn:
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}: {cls.__doc__}")


def refusing(module: str, name: str, instead: str) -> type:
    """A class that raises NotImplementedError when it is called, with what to write instead."""
    return _Refusing(name, (), {"__doc__": f"{module}.{name} is not here: {instead}", "__module__": module})


def no_attribute(module: str, name: str) -> AttributeError:
    """The error of a module of this package for a name that neither Ray nor nbaccel has there."""
    return elsewhere.no_attribute(module, name)
