"""What tblib does where Dask is loaded: one reducer for all exceptions there are, which takes their chains along."""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from typing import Any


def register_for_all() -> None:
    for kind in _kinds(BaseException):
        copyreg.pickle(kind, _with_its_chain)  # type: ignore[arg-type]


def _kinds(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    yield kind
    for part in type.__subclasses__(kind):
        yield from _kinds(part)


def _with_its_chain(error: BaseException) -> Any:
    kind = type(error)
    rebuild, args, *_rest = error.__reduce__()  # type: ignore[misc]
    if kind.__reduce__ is OSError.__reduce__ and kind.__init__ is not OSError.__init__:
        rebuild, args = _without_constructor, (kind, error.args)  # its own may want something else
    return _rebuilt, (rebuild, args, error.__cause__, error.__context__)


def _without_constructor(kind: type[BaseException], args: Any) -> BaseException:
    made = kind.__new__(kind)
    made.args = args
    return made


def _rebuilt(rebuild: Any, args: Any, cause: Any, context: Any) -> BaseException:
    made: BaseException = rebuild(*args)
    made.__cause__, made.__context__ = cause, context
    return made
